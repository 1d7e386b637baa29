//! The promises to a model and its host, each promise one test, over a line of JSON at a time.

mod arguments;
mod bounds;
mod citing;
mod host;
mod offering;
mod resources;
mod session;
mod trees;
mod work;
