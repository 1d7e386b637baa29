//! Collections as a call names them: one, or all that there are.

use nuthatch_link::{Collection, CollectionOptions, Database, EmbedderChoice, Error, Files, Result};

/// Collections that one call looks through when it names none.
pub const COLLECTIONS_MAX: usize = 32;

/// The collection of that name, with the embedder that it was made with.
///
/// # Errors
/// `NotFound`, with the names that there are.
pub fn existing(database: &Database, name: &str, embedder: &EmbedderChoice) -> Result<Collection> {
    let collection = database.existing_collection(name)?;
    let EmbedderChoice::Given(given) = embedder else { return Ok(collection) };
    match collection.info()?.embedder.as_deref() == Some(given.name()) {
        true => database.collection(name, options(embedder)),
        false => Ok(collection),
    }
}

/// The collection of that name, made when there is none.
pub fn existing_or_new(database: &Database, name: &str, embedder: &EmbedderChoice) -> Result<Collection> {
    match database.collection_names()?.iter().any(|known| known == name) {
        true => existing(database, name, embedder),
        false => database.collection(name, options(embedder)),
    }
}

fn options(embedder: &EmbedderChoice) -> CollectionOptions {
    CollectionOptions { embedder: embedder.clone(), ..CollectionOptions::default() }
}

/// The files of the tree of that name, or of the only one.
///
/// # Errors
/// `NotFound`, with the names that there are; `Invalid` when none is named and there are several.
pub fn tree(database: &Database, name: Option<&str>) -> Result<Files> {
    let name = match name {
        Some(name) => name.to_string(),
        None => match &mut database.tree_names()?[..] {
            [only] => std::mem::take(only),
            [] => return Err(Error::not_found("there is no tree; `nuthatch add FOLDER --tree NAME` makes one")),
            several => {
                return Err(Error::invalid(format!("there are several trees; name one: {}", several.join(", "))));
            }
        },
    };
    Ok((*database.existing_tree(&name)?).clone())
}

/// The collections that a call means.
///
/// # Errors
/// `NotFound` for a name that there is not; `Invalid` when none is named and there are too many.
pub fn meant(database: &Database, name: Option<&str>, embedder: &EmbedderChoice) -> Result<Vec<Collection>> {
    let names = match name {
        Some(name) => return existing(database, name, embedder).map(|collection| vec![collection]),
        None => database.collection_names()?,
    };
    if names.len() > COLLECTIONS_MAX {
        return Err(Error::invalid(format!(
            "there are {} collections, but one search covers at most {COLLECTIONS_MAX}; name one (`list` shows them)",
            names.len()
        )));
    }
    names.iter().map(|name| existing(database, name, embedder)).collect()
}
