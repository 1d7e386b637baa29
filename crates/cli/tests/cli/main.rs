//! What the command promises, each promise one test, all through the built program.

mod adding;
mod auditing;
mod backing_up;
mod doctor;
mod embedders;
mod folders;
mod hostile;
mod interrupted;
mod key_values;
mod mcp;
mod optimizing;
mod output;
mod removing;
mod searching;
mod serving;
mod support;
mod tenants;
