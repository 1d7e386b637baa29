//! Documents that are no text, whole, damaged and hostile, written here member by member.

mod books;
mod damage;
mod delimited;
mod mails;
mod notebooks;
mod office;
mod packing;
mod rtf;
mod sheets;
