"""What can be done to a document: find its sites, promote their scales. No operation verifies itself."""
