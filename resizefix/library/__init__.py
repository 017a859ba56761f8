"""The calls a user makes: each composes an operation with its verification and gives back the kind of model it got."""
