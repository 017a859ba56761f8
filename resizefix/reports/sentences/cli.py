"""What is said of cli."""

SENTENCES = {
    "cli.shapes-what-engine-built": "shapes are what an engine is built for: give --build too",
    "cli.output-dir-says-where-write": "--output-dir says where to write; leave out --in-place and -o",
    "cli.two-models-called-file": "two of the models are called {double}, and would be one file in {output_dir}",
    "cli.shows-model-call-each": "--{name} shows one model; call it for each",
    "cli.out-change-several-models": "more than IN and OUT: to change several models at once, give --output-dir DIR",
    "cli.made-folder": "{output_dir} cannot be made a folder: {strerror}",
    "cli.html-wants-file-page": "--html wants a file; a page on a terminal serves nobody",
    "cli.html-markdown-both-name": "--html and --markdown both name {files}",
    "cli.out-given-twice-o": "OUT is given twice, as {out} and as -o {option}",
    "cli.in-place-replaces-out-given": "--in-place replaces {model}, so OUT ({path}) cannot be given with it",
    "cli.where-write-give-out": "where to write? Give OUT, or --in-place, or --dry-run",
    "cli.folder-name-file-write": "{path} is a folder; name the file to write in it",
    "cli.exists-force-replaces": "{path} exists; --force replaces it",
    "cli.where-in-place-leave-old": "{model} has {names}, where --in-place would leave the old model; give OUT",
    "cli.model-read": "{path} is the model that is read{named}; {instead}",
    "cli.upsample-resize-node-model": "there is no Upsample or Resize node in this model, so there is nothing to do",
    "cli.nothing-do-model-form": "there is nothing to do: the model is in this form already",
    "cli.upsample-resize-node-model-nothing": "there is no Upsample or Resize node in this model, so there is nothing to be {done}",
    "cli.though-named-n-nothing": "{names} could not be {done}, though named with -n; nothing was written",
}
