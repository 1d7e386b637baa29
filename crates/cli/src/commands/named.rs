//! Reads of records that every face answers by their names: `nuthatch count`, and whatever else the dialect lists. Flags and help are made
//! of the description of each question.

use std::io::Write;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use nuthatch_dialect::operations::{self, Operation, RECORDS};
use nuthatch_dialect::{Field, Takes, further};
use nuthatch_link::Error;
use serde_json::{Map, Value};

use crate::args::{COLLECTION_DEFAULT, Globals};
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, Out, plain};

const COLLECTION: &str = "collection";
const JSON: &str = "json";

/// One of them, with its question.
pub struct Asked {
    operation: &'static Operation,
    collection: String,
    question: Map<String, Value>,
    json: bool,
}

impl Asked {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let collection = database.existing_collection(&self.collection)?;
        let answer = self.operation.ask(&collection, Value::Object(self.question.clone()))?;
        match self.json {
            true => output::json(out, &answer)?,
            false => writeln!(out, "{}", plain(&self.operation.text(&answer)))?,
        }
        out.flush()?;
        database.close()?;
        Ok(Outcome::Done)
    }
}

impl Subcommand for Asked {
    fn augment_subcommands(command: Command) -> Command {
        RECORDS.iter().fold(command, |command, operation| command.subcommand(described(operation)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        operations::find(name).is_ok()
    }
}

impl FromArgMatches for Asked {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let unknown = || clap::Error::new(clap::error::ErrorKind::InvalidSubcommand);
        let (name, given) = matches.subcommand().ok_or_else(unknown)?;
        let operation = operations::find(name).map_err(|_| unknown())?;
        let mut question = Map::new();
        for field in operation.fields() {
            put(&field, given, &mut question)?;
        }
        let collection = given.get_one::<String>(COLLECTION).cloned().unwrap_or_default();
        Ok(Self { operation, collection, question, json: given.get_flag(JSON) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn described(operation: &Operation) -> Command {
    let fields = operation.fields().into_iter().enumerate();
    let own = fields.map(|(at, field)| {
        let is_positional = at == 0;
        let argument = flag(&field);
        match is_positional {
            true => argument.num_args(0..).action(ArgAction::Append),
            false => argument.long(field.name.replace('_', "-")),
        }
    });
    let collection = Arg::new(COLLECTION).long(COLLECTION).default_value(COLLECTION_DEFAULT).value_name("NAME");
    Command::new(operation.name)
        .about(operation.says.trim_end_matches('.'))
        .args(own)
        .arg(collection.help("The collection to ask"))
        .arg(Arg::new(JSON).long(JSON).action(ArgAction::SetTrue).help("Print the answer as JSON"))
}

/// The fields of a search that `search` does not spell out.
pub struct Further(pub Map<String, Value>);

impl Args for Further {
    fn augment_args(command: Command) -> Command {
        command.args(further().iter().map(|field| flag(field).long(field.name.replace('_', "-"))))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Further {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Map::new();
        further().iter().try_for_each(|field| put(field, matches, &mut given))?;
        Ok(Self(given))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A field as an argument, still without its flag.
pub fn flag(field: &Field) -> Arg {
    let help = field.says.trim_end_matches('.').to_string();
    let argument = Arg::new(field.name.clone()).help(help);
    match field.takes {
        Takes::Switch => argument.action(ArgAction::SetTrue),
        Takes::Texts => argument.action(ArgAction::Append).value_name(field.name.to_uppercase()),
        Takes::Integer | Takes::Number => argument.value_name("N").allow_negative_numbers(true),
        Takes::Text => argument.value_name(field.name.to_uppercase()),
    }
}

/// Puts what was given for a field into a question.
pub fn put(field: &Field, given: &ArgMatches, question: &mut Map<String, Value>) -> Result<(), clap::Error> {
    let refused =
        |error: Error| clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{}\n", error.message));
    if field.takes == Takes::Switch {
        if given.get_flag(&field.name) {
            field.put(question, "true").map_err(refused)?;
        }
        return Ok(());
    }
    for word in given.get_many::<String>(&field.name).into_iter().flatten() {
        field.put(question, word).map_err(refused)?;
    }
    Ok(())
}
