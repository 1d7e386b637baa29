//! `nuthatch graph`: typed nodes and edges.

use std::io::{BufRead, Write};

use clap::{Args, Subcommand};
use nuthatch_link::{
    Edge, EdgeDirection, EdgeId, Error, Graph as EngineGraph, ListNodes, Neighbors, Node, NodeOrEdge,
    Result as EngineResult, Traverse, WriteBatch,
};
use serde_json::{Value, json};

use crate::args::Globals;
use crate::audit::AuditedAction;
use crate::durability::DurabilityArgs;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, Out, plain};
use crate::units::count;

/// Lines of standard input that are one write.
const LINES_AT_ONCE: usize = 1000;

#[derive(Args)]
#[command(after_help = "\
echo '{\"source\": \"home\", \"type\": \"links\", \"target\": \"about\"}' | nuthatch graph put --graph web
nuthatch graph neighbors home --graph web --direction both
nuthatch graph traverse home --graph web --depth 3")]
pub struct Graph {
    /// The graph
    #[arg(short, long, global = true, default_value = "default", value_name = "NAME")]
    graph: String,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Put nodes and edges from standard input, one JSON object per line: {"id", "type"} or
    /// {"source", "type", "target"}
    ///
    /// Both may have "properties", and an edge a "weight". A thousand lines are one write.
    Put(Put),
    /// Print nodes
    Get(Get),
    /// Print the edges of a node
    Neighbors(NeighborArgs),
    /// Print the nodes connected to some nodes, each once, by depth
    Traverse(TraverseArgs),
    /// List the nodes
    List(List),
    /// Delete nodes with all their edges, or one edge
    Delete(Delete),
    /// List the graphs
    Ls,
    /// Drop a graph with everything in it
    Drop(DropGraph),
}

#[derive(Args)]
struct Put {
    #[command(flatten)]
    durability: DurabilityArgs,
}

#[derive(Args)]
struct Get {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

#[derive(Args)]
struct Along {
    /// Direction: out, in or both
    #[arg(short, long, default_value = "out", value_parser = direction)]
    direction: EdgeDirection,
    /// Only edges of this type; may be repeated
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    types: Vec<String>,
}

#[derive(Args)]
struct NeighborArgs {
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    along: Along,
    /// Edges per page, up to 10,000
    #[arg(short, long, default_value_t = 100)]
    limit: usize,
    /// Continue after the page that gave this cursor
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Args)]
struct TraverseArgs {
    #[arg(required = true, value_name = "ID")]
    start: Vec<String>,
    #[command(flatten)]
    along: Along,
    /// Maximum number of edges from the start, up to 64
    #[arg(long, default_value_t = 2)]
    depth: u32,
    /// Maximum number of nodes, up to 10,000
    #[arg(short, long, default_value_t = 1000)]
    limit: usize,
}

#[derive(Args)]
struct List {
    /// Only nodes of this type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only nodes whose ids begin with this
    #[arg(long, default_value = "")]
    prefix: String,
    /// Nodes per page, up to 10,000
    #[arg(short, long, default_value_t = 100)]
    limit: usize,
    /// Continue after the page that gave this cursor
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Args)]
struct Delete {
    /// Ids of nodes to delete
    #[arg(value_name = "ID", required_unless_present = "edge")]
    ids: Vec<String>,
    /// Delete only this edge
    #[arg(long, num_args = 3, value_names = ["SOURCE", "TYPE", "TARGET"], conflicts_with = "ids")]
    edge: Option<Vec<String>>,
    #[command(flatten)]
    durability: DurabilityArgs,
}

#[derive(Args)]
struct DropGraph {
    /// Confirm the deletion
    #[arg(long)]
    yes: bool,
}

impl Graph {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        match &self.command {
            Command::Put(args) => self.put(args, globals, out),
            Command::Get(args) => self.get(args, globals, out),
            Command::Neighbors(args) => self.neighbors(args, globals, out),
            Command::Traverse(args) => self.traverse(args, globals, out),
            Command::List(args) => self.list(args, globals, out),
            Command::Delete(args) => self.delete(args, globals, out),
            Command::Ls => self.ls(globals, out),
            Command::Drop(args) => self.drop_graph(args, globals, out),
        }
    }

    fn put(&self, args: &Put, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::create(globals)?;
        let (mut nodes, mut edges) = (0, 0);
        let mut lines = std::io::stdin().lock().lines();
        let mut number = 0;
        loop {
            let mut batch = WriteBatch::new().with_durability(args.durability.durability);
            let mut taken = 0;
            for line in lines.by_ref().take(LINES_AT_ONCE) {
                let line = line.map_err(|error| Error::invalid(format!("standard input: {error}")))?;
                (taken, number) = (taken + 1, number + 1);
                if line.trim().is_empty() {
                    continue;
                }
                let put = |line: &str| -> EngineResult<NodeOrEdge> {
                    let json = serde_json::from_str(line).map_err(|error| Error::invalid(error.to_string()))?;
                    NodeOrEdge::from_json(json)
                };
                match put(&line).map_err(|error| {
                    Error::new(error.kind, format!("standard input, line {number}: {}", error.message))
                })? {
                    NodeOrEdge::Node(node) => {
                        nodes += 1;
                        batch.graph(&self.graph).put_nodes(&[node])?;
                    }
                    NodeOrEdge::Edge(edge) => {
                        edges += 1;
                        batch.graph(&self.graph).put_edges(&[edge])?;
                    }
                }
            }
            database.write(batch)?;
            if taken < LINES_AT_ONCE {
                break;
            }
        }
        database.close()?;
        match self.json {
            true => output::json(out, &json!({ "nodes": nodes, "edges": edges }))?,
            false => writeln!(out, "Put {} and {}.", count(nodes, "node"), count(edges, "edge"))?,
        }
        Ok(Outcome::Done)
    }

    fn get(&self, args: &Get, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let found = self.read(globals, |graph| graph.nodes(&args.ids))?;
        let mut outcome = Outcome::Done;
        for (id, _) in args.ids.iter().zip(&found).filter(|(_, node)| node.is_none()) {
            output::warning(&format!("no node {id:?} in graph {:?}", self.graph));
            outcome = Outcome::NothingFound;
        }
        let found: Vec<&Node> = found.iter().flatten().collect();
        self.show_nodes(&found, None, out)?;
        Ok(outcome)
    }

    fn neighbors(&self, args: &NeighborArgs, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let Along { direction, types } = &args.along;
        let ask =
            Neighbors { direction: *direction, kinds: types.clone(), limit: args.limit, cursor: args.cursor.clone() };
        let page = self.read(globals, |graph| graph.neighbors(&args.id, &ask))?;
        match self.json {
            true => {
                let found = page.neighbors.iter().map(|it| json!({ "id": it.id, "edge": it.edge.to_json() }));
                output::json(out, &json!({ "neighbors": found.collect::<Vec<_>>(), "cursor": page.cursor }))?;
            }
            false => {
                for found in &page.neighbors {
                    writeln!(out, "{}", shown(&found.edge))?;
                }
                note_more(page.cursor.as_deref());
            }
        }
        Ok(if page.neighbors.is_empty() { Outcome::NothingFound } else { Outcome::Done })
    }

    fn traverse(&self, args: &TraverseArgs, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let Along { direction, types } = &args.along;
        let ask = Traverse {
            direction: *direction,
            kinds: types.clone(),
            max_depth: args.depth,
            limit: args.limit,
            ..Traverse::from(args.start.clone())
        };
        let found = self.read(globals, |graph| graph.traverse(&ask))?;
        match self.json {
            true => {
                let nodes = found
                    .nodes
                    .iter()
                    .map(|it| json!({ "id": it.id, "depth": it.depth, "via": it.via.as_ref().map(Edge::to_json) }));
                output::json(out, &json!({ "nodes": nodes.collect::<Vec<_>>(), "truncated": found.truncated }))?;
            }
            false => {
                for node in &found.nodes {
                    let via = node.via.as_ref().map(|edge| format!("  {}", shown(edge))).unwrap_or_default();
                    writeln!(out, "{}  {BOLD}{}{BOLD:#}{via}", node.depth, plain(&node.id))?;
                }
                if found.truncated {
                    output::note("There may be more: the traversal stopped at its limit.");
                }
            }
        }
        Ok(Outcome::Done)
    }

    fn list(&self, args: &List, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let ask = ListNodes {
            kind: args.kind.clone(),
            prefix: args.prefix.clone(),
            limit: args.limit,
            cursor: args.cursor.clone(),
        };
        let page = self.read(globals, |graph| graph.list_nodes(&ask))?;
        self.show_nodes(&page.nodes.iter().collect::<Vec<_>>(), Some(page.cursor.as_deref()), out)?;
        Ok(if page.nodes.is_empty() && page.cursor.is_none() { Outcome::NothingFound } else { Outcome::Done })
    }

    fn delete(&self, args: &Delete, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open_to_write(globals)?;
        let graph = database.existing_graph(&self.graph)?.with_durability(args.durability.durability);
        let (nodes, edges) = match args.edge.as_deref() {
            Some([source, kind, target]) => (0, graph.delete_edges(&[EdgeId::new(source, kind, target)])?),
            _ => {
                let gone = graph.delete_nodes(&args.ids)?;
                (gone.nodes, gone.edges)
            }
        };
        database.close()?;
        match self.json {
            true => output::json(out, &json!({ "nodes": nodes, "edges": edges }))?,
            false => writeln!(out, "Deleted {} and {}.", count(nodes, "node"), count(edges, "edge"))?,
        }
        Ok(if nodes + edges == 0 { Outcome::NothingFound } else { Outcome::Done })
    }

    fn ls(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let mut found = Vec::new();
        for name in database.graph_names()? {
            let counts = database.existing_graph(&name)?.counts()?;
            found.push((name, counts));
        }
        database.close()?;
        match self.json {
            true => {
                let graphs = found.iter().map(|(name, counts)| {
                    json!({ "name": name, "nodes": counts.nodes, "edges": counts.edges, "exact": counts.exact })
                });
                output::json(out, &graphs.collect::<Vec<_>>())?;
            }
            false => {
                for (name, counts) in &found {
                    let about = if counts.exact { "" } else { "about " };
                    let (nodes, edges) = (count(counts.nodes, "node"), count(counts.edges, "edge"));
                    writeln!(out, "{BOLD}{}{BOLD:#}  {about}{nodes}, {about}{edges}", plain(name))?;
                }
                if found.is_empty() {
                    output::note("No graphs.");
                }
            }
        }
        Ok(if found.is_empty() { Outcome::NothingFound } else { Outcome::Done })
    }

    fn drop_graph(&self, args: &DropGraph, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let name = &self.graph;
        if !args.yes {
            return Err(Error::invalid(format!(
                "this drops graph {name:?} and everything in it; add --yes to confirm"
            ))
            .into());
        }
        let database = folder::open_to_write(globals)?;
        database.existing_graph(name)?;
        let act = AuditedAction::new(globals, database.folder(), "graph.drop", name);
        let dropped = act.end(database.drop_graph(name), |dropped| vec![("dropped", json!(dropped))])?;
        database.close()?;
        match self.json {
            true => output::json(out, &json!({ "graph": name, "dropped": dropped }))?,
            false => writeln!(out, "Dropped graph {}.", plain(name))?,
        }
        Ok(Outcome::Done)
    }

    fn read<T>(&self, globals: &Globals, read: impl FnOnce(&EngineGraph) -> EngineResult<T>) -> EngineResult<T> {
        let database = folder::open(globals)?;
        let found = read(&database.existing_graph(&self.graph)?)?;
        database.close()?;
        Ok(found)
    }

    /// `page`: the cursor of a listing.
    fn show_nodes(&self, nodes: &[&Node], page: Option<Option<&str>>, out: &mut Out) -> Result<(), Failure> {
        if self.json {
            let found: Vec<Value> = nodes.iter().map(|node| node.to_json()).collect();
            match page {
                Some(cursor) => output::json(out, &json!({ "nodes": found, "cursor": cursor }))?,
                None => output::json(out, &found)?,
            }
            return Ok(());
        }
        for node in nodes {
            let properties = properties_of(&node.to_json());
            writeln!(out, "{BOLD}{}{BOLD:#}  {}{properties}", plain(&node.id), plain(&node.kind))?;
        }
        note_more(page.flatten());
        Ok(())
    }
}

fn direction(word: &str) -> Result<EdgeDirection, String> {
    word.parse().map_err(|error: Error| error.message)
}

fn note_more(cursor: Option<&str>) {
    if let Some(cursor) = cursor {
        output::note(&format!("There is more: --cursor {cursor}"));
    }
}

/// An edge on one line.
fn shown(edge: &Edge) -> String {
    let weight = if edge.weight == 1.0 { String::new() } else { format!("  {}", edge.weight) };
    let (source, kind, target) = (plain(&edge.source), plain(&edge.kind), plain(&edge.target));
    format!("{source} -{kind}-> {target}{weight}{}", properties_of(&edge.to_json()))
}

/// Formats the properties of a node or edge for a line; empty if it has none.
fn properties_of(json: &Value) -> String {
    match &json["properties"] {
        Value::Null => String::new(),
        properties => plain(&format!("  {properties}")),
    }
}
