//! A tool that runs commands, with no child that outlives the program.
