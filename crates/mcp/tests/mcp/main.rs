//! What a model and its host are promised, each promise one test, over a line of JSON at a time.

mod bounds;
mod host;
mod offering;
mod resources;
mod session;
mod work;
