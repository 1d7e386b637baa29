//! The guarantees of graphs: no edge is ever half written, one batch covers them with everything else, and all
//! guarantees of keyspaces hold.

mod support;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use nuthatch_link::*;
use support::{no_embedder, quiet};

fn memory() -> Database {
    Database::in_memory(quiet()).unwrap()
}

fn node(id: &str) -> Node {
    Node::new(id, "page").properties(Payload::from([("name".into(), Value::Text(id.to_uppercase()))]))
}

fn edge(source: &str, target: &str) -> Edge {
    Edge::new(source, "links", target)
}

fn ids(page: &NeighborPage) -> Vec<&str> {
    page.neighbors.iter().map(|neighbor| neighbor.id.as_str()).collect()
}

fn both() -> Neighbors {
    Neighbors { direction: EdgeDirection::Both, ..Neighbors::default() }
}

fn direction(direction: EdgeDirection) -> Neighbors {
    Neighbors { direction, ..Neighbors::default() }
}

/// All edges, as they are found under their sources, and as they are found under their targets.
fn edges_by_end(graph: &Graph, nodes: &BTreeSet<String>) -> [BTreeSet<EdgeId>; 2] {
    [EdgeDirection::Out, EdgeDirection::In].map(|way| {
        let of = |id: &String| graph.neighbors(id, &direction(way)).unwrap().neighbors;
        nodes.iter().flat_map(of).map(|neighbor| neighbor.edge.id()).collect()
    })
}

#[test]
fn nodes_and_edges_come_back_as_they_were_put() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let graph = db.graph("web").unwrap();
    let rich = Edge::new("a", "cites", "b").weight(-0.25).properties(Payload::from([
        ("when".into(), Value::Datetime(1_700_000_000_000_000)),
        ("lines".into(), Value::Array(vec![Value::Int(3), Value::Null])),
    ]));
    graph.put_nodes(vec![node("a"), node("b"), Node::new("ü/§ b", "ß")]).unwrap();
    graph.put_edges(vec![edge("a", "b"), rich.clone(), edge("never put", "a"), edge("a", "a")]).unwrap();
    graph.put_nodes(vec![Node::new("b", "book")]).unwrap(); // replaced; its edges stay
    let check = |graph: &Graph| {
        let found = graph.nodes(&["b", "never put", "ü/§ b", "a"]).unwrap();
        assert_eq!(found, [Some(Node::new("b", "book")), None, Some(Node::new("ü/§ b", "ß")), Some(node("a"))]);
        assert_eq!(graph.edge(&EdgeId::new("a", "cites", "b")).unwrap(), Some(rich.clone()));
        assert_eq!(graph.edge(&EdgeId::new("b", "cites", "a")).unwrap(), None);
        let page = graph.neighbors("a", &both()).unwrap();
        let found: Vec<_> = page.neighbors.iter().map(|it| (it.id.as_str(), it.edge.clone())).collect();
        let wanted =
            [("b", rich.clone()), ("a", edge("a", "a")), ("b", edge("a", "b")), ("never put", edge("never put", "a"))];
        assert_eq!(found, wanted, "out before in, by type, by id, a loop once");
        assert_eq!(ids(&graph.neighbors("b", &direction(EdgeDirection::In)).unwrap()), ["a", "a"]);
        assert_eq!(graph.counts().unwrap(), GraphCounts { nodes: 3, edges: 4, exact: true });
        assert_eq!(db_names(graph), "web");
    };
    check(&graph);
    db.close().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    check(&db.existing_graph("web").unwrap());
    assert!(db.doctor().unwrap().is_well());
    let graph = db.graph("web").unwrap();
    assert_eq!(graph.delete_edges(&[rich.id(), EdgeId::new("x", "y", "z")]).unwrap(), 1);
    assert_eq!(graph.delete_nodes(&["a", "nobody"]).unwrap(), NodesDeleted { nodes: 1, edges: 3 });
    assert_eq!(graph.counts().unwrap(), GraphCounts { nodes: 2, edges: 0, exact: true });
    assert_eq!(graph.neighbors("never put", &both()).unwrap(), NeighborPage::default());
}

fn db_names(graph: &Graph) -> &str {
    graph.name()
}

#[test]
fn graphs_and_keyspaces_are_told_apart() {
    let db = memory();
    db.graph("links").unwrap();
    db.kv("settings").unwrap();
    for error in [
        db.kv("links").err().unwrap(),
        db.existing_keyspace("links").err().unwrap(),
        db.drop_keyspace("links").unwrap_err(),
        db.graph("settings").err().unwrap(),
        db.existing_graph("settings").err().unwrap(),
        db.drop_graph("settings").unwrap_err(),
        db.snapshot().unwrap().kv("links").err().unwrap(),
        db.snapshot().unwrap().graph("settings").err().unwrap(),
        db.transaction().unwrap().kv("links").err().unwrap(),
        db.transaction().unwrap().graph("settings").err().unwrap(),
        db.write({
            let mut batch = WriteBatch::new();
            batch.put("links", "k", "v");
            batch
        })
        .unwrap_err(),
        db.write({
            let mut batch = WriteBatch::new();
            batch.graph("settings").put_edges(&[edge("a", "b")]).unwrap();
            batch
        })
        .unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
        assert!(error.message.contains("is a graph, not") || error.message.contains("is a keyspace, not"), "{error}");
    }
    assert_eq!(
        (db.keyspace_names().unwrap(), db.graph_names().unwrap()),
        (vec!["settings".into()], vec!["links".into()])
    );
    let error = db.existing_graph("other").err().unwrap();
    assert!(error.kind == ErrorKind::NotFound && error.message.ends_with("there are: links"), "{error}");
    let links = db.graph("links").unwrap();
    links.put_edges(vec![edge("a", "b")]).unwrap();
    assert!(db.drop_graph("links").unwrap() && !db.drop_graph("links").unwrap());
    assert!(links.neighbors("a", &both()).unwrap_err().message.contains("graph \"links\" was dropped"));
    db.kv("links").unwrap(); // the name is free
    assert!(db.graph("").is_err());
}

#[test]
fn a_folder_is_of_format_3_from_its_first_graph_on() {
    let folder = tempfile::tempdir().unwrap();
    let format = || {
        let body = nuthatch_segment::read_sealed(&folder.path().join("NUTHATCH")).unwrap().unwrap();
        let text = String::from_utf8(body).unwrap();
        text.lines().find(|line| line.contains("\"format\"")).unwrap().trim().to_string()
    };
    let db = Database::open(folder.path(), quiet()).unwrap();
    db.kv("plain").unwrap().put("k", "v").unwrap();
    assert_eq!(format(), "\"format\": 1,");
    db.graph("g").unwrap();
    assert_eq!(format(), "\"format\": 3,");
}

#[test]
fn what_is_wrong_is_refused_and_leaves_the_graph_as_it_was() {
    let db = memory();
    let graph = db.graph("g").unwrap();
    let long = "x".repeat(1025);
    let large = Payload::from([("text".into(), Value::Text("y".repeat(PROPERTIES_BYTES_MAX)))]);
    let dotted = Payload::from([("a.b".into(), Value::Null)]);
    let nodes = [
        Node::new("", "t"),
        Node::new("a\0b", "t"),
        Node::new(&long, "t"),
        Node::new("a", ""),
        Node::new("a", "t".repeat(TYPE_BYTES_MAX + 1)),
        Node::new("a", "t\0"),
        Node::new("a", "t").properties(large.clone()),
        Node::new("a", "t").properties(dotted.clone()),
    ];
    for wrong in nodes {
        let error = graph.put_nodes(vec![node("fine"), wrong.clone()]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
        assert!(WriteBatch::new().graph("g").put_nodes(&[wrong]).is_err());
    }
    let edges = [
        edge("", "b"),
        edge("a", ""),
        edge(&long, "b"),
        edge("a", "b\0"),
        Edge::new("a", "", "b"),
        edge("a", "b").weight(f64::NAN),
        edge("a", "b").weight(f64::INFINITY),
        edge("a", "b").properties(large),
        edge("a", "b").properties(dotted),
    ];
    for wrong in edges {
        let error = graph.put_edges(vec![edge("fine", "too"), wrong.clone()]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
        let mut batch = WriteBatch::new();
        assert!(batch.graph("g").put_edges(&[edge("fine", "too"), wrong]).is_err());
        assert!(batch.is_empty());
    }
    for outcome in [
        graph.delete_nodes(&["fine", ""]).map(drop),
        graph.delete_edges(&[EdgeId::new("a", "", "b")]).map(drop),
        graph.nodes(&["\0"]).map(drop),
        graph.neighbors("", &both()).map(drop),
        graph.neighbors("a", &Neighbors { limit: 0, ..both() }).map(drop),
        graph.neighbors("a", &Neighbors { limit: 10_001, ..both() }).map(drop),
        graph.neighbors("a", &Neighbors { kinds: vec!["".into()], ..both() }).map(drop),
        graph.neighbors("a", &Neighbors { cursor: Some("?".into()), ..both() }).map(drop),
        graph.list_nodes(&ListNodes { limit: 0, ..ListNodes::default() }).map(drop),
        graph.traverse(&Traverse::from::<String>([])).map(drop),
        graph.traverse(&Traverse { max_depth: 0, ..Traverse::from(["a"]) }).map(drop),
        graph.traverse(&Traverse { limit: 10_001, ..Traverse::from(["a"]) }).map(drop),
        graph.traverse(&Traverse::from((0..1001).map(|at| at.to_string()))).map(drop),
    ] {
        assert_eq!(outcome.unwrap_err().kind, ErrorKind::Invalid);
    }
    assert_eq!(graph.counts().unwrap(), GraphCounts { nodes: 0, edges: 0, exact: true });
}

#[test]
fn pages_of_neighbours_and_nodes_have_each_once_and_in_order() {
    let db = memory();
    let graph = db.graph("g").unwrap();
    let mut edges = Vec::new();
    for at in 0..300 {
        edges.push(Edge::new("hub", ["a", "b", "c"][at % 3], format!("n{at:03}")));
        edges.push(Edge::new(format!("n{at:03}"), "back", "hub"));
        edges.push(Edge::new("hub 2", "a", format!("n{at:03}")));
    }
    graph.put_edges(edges).unwrap();
    graph.put_nodes((0..300).map(|at| Node::new(format!("n{at:03}"), ["even", "odd"][at % 2])).collect()).unwrap();
    let whole = graph.neighbors("hub", &both()).unwrap();
    assert_eq!((whole.neighbors.len(), whole.cursor), (600, None));
    for limit in [1, 7, 100, 599, 600, 601] {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = graph.neighbors("hub", &Neighbors { limit, cursor, ..both() }).unwrap();
            assert!(page.neighbors.len() <= limit);
            found.extend(page.neighbors);
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, whole.neighbors, "pages of {limit}");
    }
    let kinds = vec!["c".to_string(), "back".into(), "none".into(), "a".into(), "a".into()];
    let some = graph.neighbors("hub", &Neighbors { kinds, ..both() }).unwrap();
    let wanted: Vec<_> = whole.neighbors.iter().filter(|it| it.edge.kind != "b").cloned().collect();
    assert_eq!(some.neighbors, wanted);

    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let ask = ListNodes { kind: Some("odd".into()), prefix: "n1".into(), limit: 9, cursor };
        let page = graph.list_nodes(&ask).unwrap();
        found.extend(page.nodes.into_iter().map(|node| node.id));
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, (100..200).filter(|at| at % 2 == 1).map(|at| format!("n{at}")).collect::<Vec<_>>());
    let all = graph.list_nodes(&ListNodes { limit: 300, ..ListNodes::default() }).unwrap();
    assert_eq!((all.nodes.len(), all.cursor), (300, None));
}

#[test]
fn a_traversal_has_each_node_once_by_its_shortest_way_and_ends_where_it_is_told() {
    let db = memory();
    let graph = db.graph("g").unwrap();
    let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("c", "d"), ("d", "e"), ("x", "a")];
    graph.put_edges(edges.iter().map(|(from, to)| edge(from, to).weight(2.0)).collect()).unwrap();
    graph.put_edges(vec![Edge::new("a", "calls", "z")]).unwrap();
    let walk = |ask: Traverse| {
        let found = graph.traverse(&ask).unwrap();
        let nodes: Vec<_> = found.nodes.iter().map(|it| format!("{}{}", it.id, it.depth)).collect();
        (nodes.join(" "), found.truncated)
    };
    let from = |start: &[&str]| Traverse { kinds: vec!["links".into()], ..Traverse::from(start.to_vec()) };
    assert_eq!(walk(from(&["a"])), ("a0 b1 c1 d2".into(), false));
    assert_eq!(walk(Traverse { max_depth: 9, ..from(&["a"]) }), ("a0 b1 c1 d2 e3".into(), false));
    assert_eq!(walk(Traverse { max_depth: 1, ..Traverse::from(["a"]) }), ("a0 z1 b1 c1".into(), false));
    assert_eq!(walk(Traverse { limit: 3, ..from(&["a"]) }), ("a0 b1 c1".into(), true));
    assert_eq!(walk(Traverse { limit: 4, ..from(&["a"]) }), ("a0 b1 c1 d2".into(), false));
    assert_eq!(walk(Traverse { limit: 1, ..from(&["a", "b"]) }), ("a0".into(), true));
    assert_eq!(walk(Traverse { direction: EdgeDirection::In, ..from(&["a", "a"]) }), ("a0 c1 x1 b2".into(), false));
    assert_eq!(
        walk(Traverse { direction: EdgeDirection::Both, max_depth: 1, ..from(&["d"]) }),
        ("d0 e1 c1".into(), false)
    );
    assert_eq!(walk(from(&["nobody"])), ("nobody0".into(), false));
    let found = graph.traverse(&from(&["a"])).unwrap().nodes;
    assert_eq!(found[0].via, None);
    assert_eq!(found[3].via, Some(edge("c", "d").weight(2.0)));
    let back = graph.traverse(&Traverse { direction: EdgeDirection::In, ..from(&["b"]) }).unwrap().nodes;
    assert_eq!(back[1].via, Some(edge("a", "b").weight(2.0)), "an edge is as it was put, whichever way it was gone");
}

/// A naive graph: what is there, by id.
#[derive(Default)]
struct Model {
    nodes: BTreeMap<String, Node>,
    edges: BTreeMap<EdgeId, Edge>,
}

impl Model {
    fn delete_node(&mut self, id: &str) {
        self.nodes.remove(id);
        self.edges.retain(|edge, _| edge.source != id && edge.target != id);
    }
}

#[test]
fn random_writes_leave_what_a_naive_graph_has() {
    let seed = std::env::var("NUTHATCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let rounds = if std::env::var("NUTHATCH_LONG").is_ok() { 20_000 } else { 1500 };
    println!("NUTHATCH_SEED={seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let db = memory();
    let graph = db.graph("g").unwrap();
    let mut model = Model::default();
    let names: BTreeSet<String> = (0..12).map(|at| format!("n{at}")).collect();
    let list: Vec<&String> = names.iter().collect();
    for round in 0..rounds {
        let (mut batch, in_batch) = (WriteBatch::new(), dice.bool());
        let transaction = (!in_batch && dice.bool()).then(|| db.transaction().unwrap());
        for _ in 0..dice.usize(1..5) {
            let any = |dice: &mut fastrand::Rng| list[dice.usize(..list.len())].clone();
            let (a, b, kind) = (any(&mut dice), any(&mut dice), ["x", "y"][dice.usize(..2)]);
            let inside = transaction.as_ref().map(|transaction| transaction.graph("g").unwrap());
            match dice.u8(..8) {
                0 | 1 => {
                    let put = Node::new(&a, kind);
                    match &inside {
                        Some(inside) => inside.put_nodes(std::slice::from_ref(&put)).unwrap(),
                        None if in_batch => drop(batch.graph("g").put_nodes(std::slice::from_ref(&put)).unwrap()),
                        None => graph.put_nodes(vec![put.clone()]).unwrap(),
                    }
                    model.nodes.insert(a, put);
                }
                2..=5 => {
                    let put = Edge::new(&a, kind, &b).weight(f64::from(dice.u8(..3)));
                    match &inside {
                        Some(inside) => inside.put_edges(std::slice::from_ref(&put)).unwrap(),
                        None if in_batch => drop(batch.graph("g").put_edges(std::slice::from_ref(&put)).unwrap()),
                        None => graph.put_edges(vec![put.clone()]).unwrap(),
                    }
                    model.edges.insert(put.id(), put);
                }
                6 => {
                    let id = EdgeId::new(&a, kind, &b);
                    match &inside {
                        Some(inside) => inside.delete_edges(std::slice::from_ref(&id)).unwrap(),
                        None if in_batch => drop(batch.graph("g").delete_edges(std::slice::from_ref(&id)).unwrap()),
                        None => assert_eq!(
                            graph.delete_edges(std::slice::from_ref(&id)).unwrap(),
                            model.edges.contains_key(&id) as u64
                        ),
                    }
                    model.edges.remove(&id);
                }
                _ => {
                    let touches = |edge: &EdgeId| edge.source == a || edge.target == a;
                    let gone = NodesDeleted {
                        nodes: model.nodes.contains_key(&a) as u64,
                        edges: model.edges.keys().filter(|edge| touches(edge)).count() as u64,
                    };
                    match &inside {
                        Some(inside) => assert_eq!(inside.delete_nodes(&[&a]).unwrap(), gone),
                        None if in_batch => drop(batch.graph("g").delete_nodes(&[&a]).unwrap()),
                        None => assert_eq!(graph.delete_nodes(&[&a]).unwrap(), gone),
                    }
                    model.delete_node(&a);
                }
            }
        }
        db.write(batch).unwrap();
        if let Some(transaction) = transaction {
            transaction.commit(Durability::Os).unwrap();
        }
        if round % 10 == 0 || round + 1 == rounds {
            let wanted: BTreeSet<EdgeId> = model.edges.keys().cloned().collect();
            assert_eq!(edges_by_end(&graph, &names), [wanted.clone(), wanted], "round {round}");
            let nodes = graph.list_nodes(&ListNodes::default()).unwrap().nodes;
            assert!(nodes.iter().eq(model.nodes.values()), "round {round}");
            for (id, edge) in &model.edges {
                assert_eq!(graph.edge(id).unwrap().as_ref(), Some(edge), "round {round}");
            }
        }
    }
}

#[test]
fn no_edge_is_half_while_nodes_are_deleted_and_edges_put_at_the_same_time() {
    let db = memory();
    let graph = db.graph("g").unwrap();
    let names: BTreeSet<String> = (0..6).map(|at| format!("n{at}")).collect();
    let list: Vec<&String> = names.iter().collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let writers: Vec<_> = (0..4)
            .map(|seed| {
                let (db, graph, list) = (&db, graph.with_durability(Durability::Os), &list);
                threads.spawn(move || {
                    let mut dice = fastrand::Rng::with_seed(seed);
                    for _ in 0..300 {
                        let any = |dice: &mut fastrand::Rng| list[dice.usize(..list.len())];
                        let (a, b) = (any(&mut dice), any(&mut dice));
                        match dice.u8(..6) {
                            0 => drop(graph.delete_nodes(&[a]).unwrap()),
                            1 => {
                                let mut batch = WriteBatch::new().with_durability(Durability::Os);
                                batch.graph("g").delete_nodes(&[a]).unwrap().put_edges(&[edge(a, b)]).unwrap();
                                db.write(batch).unwrap();
                            }
                            2 => drop(graph.delete_edges(&[EdgeId::new(a, "links", b)]).unwrap()),
                            3 => {
                                let delete = |it: &Transaction| it.graph("g")?.delete_nodes(&[a]).map(drop);
                                db.transact(1000, delete).unwrap();
                            }
                            _ => graph.put_edges(vec![edge(a, b), edge(b, a)]).unwrap(),
                        }
                    }
                })
            })
            .collect();
        // Concurrent readers see a whole graph, too.
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let kept = db.snapshot().unwrap().graph("g").unwrap();
                let by_end = [EdgeDirection::Out, EdgeDirection::In].map(|way| {
                    let of = |id: &String| kept.neighbors(id, &direction(way)).unwrap().neighbors;
                    names.iter().flat_map(of).map(|it| it.edge.id()).collect::<BTreeSet<_>>()
                });
                assert_eq!(by_end[0], by_end[1]);
                graph.traverse(&Traverse { direction: EdgeDirection::Both, ..Traverse::from(["n0"]) }).unwrap();
            }
        });
        let outcomes: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    let [by_source, by_target] = edges_by_end(&graph, &names);
    assert_eq!(by_source, by_target);
}

#[test]
fn a_batch_over_a_graph_and_everything_else_is_there_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let graph = db.graph("links").unwrap();
    graph.put_edges(vec![edge("old", "x"), edge("y", "old"), edge("x", "y")]).unwrap();
    let mut batch = WriteBatch::new();
    batch.put("settings", "k", "v").upsert("notes", vec![Record::new("a").text("words")]);
    batch
        .graph("links")
        .put_edges(&[edge("old", "before")])
        .unwrap()
        .delete_nodes(&["old"])
        .unwrap()
        .put_nodes(&[node("a")])
        .unwrap()
        .put_edges(&[edge("a", "b"), edge("old", "after")])
        .unwrap();
    let mut wrong = batch.clone();
    wrong.upsert("notes", vec![Record::new("bad")]);
    assert_eq!(db.write(wrong).unwrap_err().kind, ErrorKind::Invalid);
    let mut nowhere = batch.clone();
    nowhere.upsert("no such collection", vec![Record::new("a").text("x")]);
    assert_eq!(db.write(nowhere).unwrap_err().kind, ErrorKind::NotFound);
    let mut large = batch.clone();
    large.put("settings", "large", vec![0; VALUE_BYTES_MAX + 1]);
    assert_eq!(db.write(large).unwrap_err().kind, ErrorKind::Exhausted);
    assert_eq!((notes.len().unwrap(), graph.counts().unwrap().edges, graph.counts().unwrap().nodes), (0, 3, 0));
    assert_eq!(db.kv("settings").unwrap().get("k").unwrap(), None);

    db.write(batch).unwrap();
    let check = |db: &Database| {
        let graph = db.existing_graph("links").unwrap();
        assert_eq!(db.existing_collection("notes").unwrap().len().unwrap(), 1);
        assert_eq!(db.kv("settings").unwrap().get("k").unwrap().unwrap(), b"v");
        assert_eq!(graph.nodes(&["a"]).unwrap(), [Some(node("a"))]);
        assert_eq!(ids(&graph.neighbors("old", &both()).unwrap()), ["after"], "what the batch puts after it stays");
        assert_eq!(ids(&graph.neighbors("a", &both()).unwrap()), ["b"]);
        assert_eq!(graph.counts().unwrap(), GraphCounts { nodes: 1, edges: 3, exact: true });
    };
    check(&db);
    db.close().unwrap();
    check(&Database::open(folder.path(), quiet()).unwrap());
}

#[test]
fn snapshots_and_transactions_see_one_moment_and_what_was_read_must_hold() {
    let db = memory();
    let graph = db.graph("g").unwrap();
    graph.put_nodes(vec![node("a")]).unwrap();
    graph.put_edges(vec![edge("a", "b"), edge("z", "a")]).unwrap();
    let kept = db.snapshot().unwrap();
    let before = kept.graph("g").unwrap();
    graph.put_edges(vec![edge("a", "c")]).unwrap();
    graph.delete_nodes(&["b"]).unwrap();
    assert_eq!(ids(&before.neighbors("a", &both()).unwrap()), ["b", "z"]);
    assert_eq!(ids(&graph.neighbors("a", &both()).unwrap()), ["c", "z"]);
    assert_eq!(before.traverse(&Traverse::from(["z"])).unwrap().nodes.len(), 3);
    assert_eq!(before.edge(&EdgeId::new("a", "links", "c")).unwrap(), None);
    assert_eq!(before.nodes(&["a"]).unwrap(), [Some(node("a"))]);
    assert_eq!(before.list_nodes(&ListNodes::default()).unwrap().nodes.len(), 1);
    assert_eq!(kept.graph("none-yet").unwrap().neighbors("a", &both()).unwrap(), NeighborPage::default());

    // Its own writes, merged with what there is.
    let transaction = db.transaction().unwrap();
    let inside = transaction.graph("g").unwrap();
    inside.put_edges(&[edge("a", "b2"), edge("a", "d").weight(3.0)]).unwrap();
    inside.delete_edges(&[EdgeId::new("a", "links", "c")]).unwrap();
    assert_eq!(ids(&inside.neighbors("a", &both()).unwrap()), ["b2", "d", "z"]);
    assert_eq!(inside.edge(&EdgeId::new("a", "links", "d")).unwrap().unwrap().weight, 3.0);
    assert_eq!(inside.delete_nodes(&["d"]).unwrap(), NodesDeleted { nodes: 0, edges: 1 });
    transaction.commit(Durability::Os).unwrap();
    assert_eq!(ids(&graph.neighbors("a", &both()).unwrap()), ["b2", "z"]);

    let conflicts = |read: &dyn Fn(&TransactionGraph<'_>), write: &dyn Fn()| {
        let transaction = db.transaction().unwrap();
        read(&transaction.graph("g").unwrap());
        transaction.kv("answers").unwrap().put("k", "v").unwrap();
        write();
        match transaction.commit(Durability::Os) {
            Ok(()) => false,
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
                true
            }
        }
    };
    let put = |from: &'static str, to: &'static str| {
        let graph = graph.clone();
        move || graph.put_edges(vec![edge(from, to).weight(fastrand::f64())]).unwrap()
    };
    let neighbors = |it: &TransactionGraph<'_>| drop(it.neighbors("a", &Neighbors::default()).unwrap());
    assert!(conflicts(&neighbors, &put("a", "new")), "an edge was put there");
    assert!(conflicts(&neighbors, &put("a", "new")), "its weight is another");
    assert!(!conflicts(&neighbors, &put("new", "a")), "in another direction");
    assert!(!conflicts(&neighbors, &put("b", "new")), "of another node");
    assert!(conflicts(&|it| drop(it.neighbors("nobody", &both()).unwrap()), &put("q", "nobody")));
    assert!(conflicts(&|it| drop(it.traverse(&Traverse::from(["a"])).unwrap()), &put("new", "far")));
    assert!(conflicts(&|it| drop(it.nodes(&["n"]).unwrap()), &|| graph.put_nodes(vec![node("n")]).unwrap()));
    assert!(conflicts(&|it| drop(it.list_nodes(&ListNodes::default()).unwrap()), &|| {
        graph.put_nodes(vec![node("m")]).unwrap();
    }));
    assert!(
        conflicts(&|it| assert!(it.delete_nodes(&["a"]).unwrap().edges > 0), &put("late", "a")),
        "the late edge would be left"
    );
    assert!(conflicts(&|it| it.depend_on_nodes(&["p"]).unwrap(), &|| graph.put_nodes(vec![node("p")]).unwrap()));
    assert!(conflicts(&|it| it.depend_on_edges(&[EdgeId::new("u", "links", "v")]).unwrap(), &put("u", "v")));
    assert!(conflicts(&|it| it.depend_on_neighbors("w", &both()).unwrap(), &put("v", "w")));
    assert!(conflicts(&|it| it.depend_on_list(&ListNodes::default()).unwrap(), &|| {
        graph.put_nodes(vec![node("o")]).unwrap();
    }));
}

#[test]
fn tenants_have_graphs_of_their_own_within_their_limits() {
    let db = memory();
    let (one, two) = (db.create_tenant("one").unwrap(), db.create_tenant("two").unwrap());
    for (tenant, to) in [(&db, "default"), (&one, "first"), (&two, "second")] {
        tenant.graph("g").unwrap().put_edges(vec![edge("a", to)]).unwrap();
        tenant.graph("g").unwrap().put_nodes(vec![node(to)]).unwrap();
    }
    for (tenant, to) in [(&db, "default"), (&one, "first"), (&two, "second")] {
        let graph = tenant.existing_graph("g").unwrap();
        assert_eq!(ids(&graph.neighbors("a", &both()).unwrap()), [to]);
        assert_eq!(graph.list_nodes(&ListNodes::default()).unwrap().nodes.len(), 1);
        assert_eq!(graph.counts().unwrap(), GraphCounts { nodes: 1, edges: 1, exact: true });
        assert_eq!(graph.traverse(&Traverse::from(["a"])).unwrap().nodes.len(), 2);
    }
    let bytes = one.usage().unwrap().bytes;
    let limits = TenantLimits { bytes: Some(bytes + 100), ..TenantLimits::default() };
    db.set_tenant_limits("one", limits).unwrap();
    let graph = one.graph("g").unwrap();
    let many: Vec<Edge> = (0..10).map(|at| edge("a", &format!("n{at}"))).collect();
    assert_eq!(graph.put_edges(many.clone()).unwrap_err().kind, ErrorKind::Exhausted);
    assert_eq!(ids(&graph.neighbors("a", &both()).unwrap()), ["first"], "nothing of it was written");
    graph.delete_nodes(&["a", "first"]).unwrap();
    assert_eq!(one.usage().unwrap().bytes, 0, "every row that was counted is gone");
    db.drop_tenant("two").unwrap();
    assert_eq!(ids(&db.existing_graph("g").unwrap().neighbors("a", &both()).unwrap()), ["default"]);
}

fn holding(folder: &Path, needle: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(holding(&entry.path(), needle)),
            false => {
                let bytes = std::fs::read(entry.path()).unwrap_or_default();
                if bytes.windows(needle.len()).any(|window| window == needle.as_bytes()) {
                    found.push(entry.path());
                }
            }
        }
    }
    found
}

#[test]
fn nothing_is_left_of_what_was_deleted_or_dropped_after_a_reclaim() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let mut dice = fastrand::Rng::with_seed(3);
    let mut word = || (0..24).map(|_| dice.lowercase()).collect::<String>();
    let (id, kind, far, property, dropped) = (word(), word(), word(), word(), word());
    let graph = db.graph("g").unwrap();
    let marked = Payload::from([("mark".into(), Value::Text(property.clone()))]);
    graph.put_nodes(vec![Node::new(&id, "t").properties(marked.clone()), Node::new("kept", "t")]).unwrap();
    graph.put_edges(vec![Edge::new(&id, &kind, &far).properties(marked), edge("kept", "edge of mine")]).unwrap();
    db.graph("gone").unwrap().put_edges(vec![edge(&dropped, "x")]).unwrap();
    db.sync().unwrap();
    let marks = [&id, &kind, &far, &property, &dropped];
    marks.iter().for_each(|mark| assert!(!holding(folder.path(), mark).is_empty(), "{mark} is there before"));
    graph.delete_nodes(&[&id]).unwrap();
    assert!(db.drop_graph("gone").unwrap());
    db.reclaim(None).unwrap();
    marks.iter().for_each(|mark| assert_eq!(holding(folder.path(), mark), Vec::<std::path::PathBuf>::new(), "{mark}"));
    assert_eq!(ids(&graph.neighbors("kept", &both()).unwrap()), ["edge of mine"]);
}

fn everything(db: &Database) -> (Vec<Node>, BTreeMap<String, Vec<Neighbor>>) {
    let graph = db.existing_graph("g").unwrap();
    let nodes = graph.list_nodes(&ListNodes { limit: 10_000, ..ListNodes::default() }).unwrap().nodes;
    let of = |at: u32| (format!("n{at}"), graph.neighbors(&format!("n{at}"), &both()).unwrap().neighbors);
    (nodes, (0..50).map(of).collect())
}

fn fill(db: &Database) {
    let mut dice = fastrand::Rng::with_seed(11);
    let properties = |at: u32| {
        Payload::from([
            ("n".into(), Value::Int(i64::from(at))),
            ("when".into(), Value::Datetime(i64::from(at) * 1_000_000)),
            ("text".into(), Value::Text(format!("line\n{at} \"ü\""))),
        ])
    };
    let graph = db.graph("g").unwrap();
    let nodes =
        (0..40).map(|at| Node::new(format!("n{at}"), ["page", "person"][at as usize % 2]).properties(properties(at)));
    graph.put_nodes(nodes.collect()).unwrap();
    let edges = (0..300).map(|at| {
        let (a, b) = (dice.u8(..50), dice.u8(..50));
        let edge = Edge::new(format!("n{a}"), ["links", "knows"][at % 2], format!("n{b}"));
        if at % 3 == 0 { edge.weight(0.1 * at as f64).properties(properties(at as u32)) } else { edge }
    });
    graph.put_edges(edges.collect()).unwrap();
    db.graph("empty").unwrap();
    db.kv("settings").unwrap().put("k", "v").unwrap();
}

#[test]
fn exports_and_backups_carry_graphs() {
    let db = memory();
    fill(&db);
    let wanted = everything(&db);
    let counts = db.graph("g").unwrap().counts().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let report = db.export(folder.path(), ExportOptions::default()).unwrap();
    assert_eq!((report.graphs, report.keyspaces, report.keys), (2, 1, 1));
    assert_eq!((report.nodes, report.edges), (counts.nodes, counts.edges));
    let lines = std::fs::read_to_string(folder.path().join("graphs/001-g.jsonl")).unwrap();
    assert!(lines.starts_with(r#"{"id":"n0","type":"page","properties":{"#), "{lines}");
    assert_eq!(lines.lines().count() as u64, counts.nodes + counts.edges, "pointers are not written");
    let other = memory();
    let report = other.import(folder.path(), ImportOptions::default()).unwrap();
    assert_eq!(
        (report.graphs, report.nodes, report.edges),
        (vec!["empty".into(), "g".into()], counts.nodes, counts.edges)
    );
    assert_eq!(everything(&other), wanted);
    assert_eq!(other.graph_names().unwrap(), ["empty", "g"]);
    assert_eq!(other.import(folder.path(), ImportOptions::default()).unwrap_err().kind, ErrorKind::Invalid);
    other.import(folder.path(), ImportOptions { merge: true, ..ImportOptions::default() }).unwrap();
    assert_eq!(everything(&other), wanted);
    for wrong in [r#"{"id":"a","type":""}"#, r#"{"id":"a","source":"b","type":"t"}"#, r#"{"type":"t"}"#, "[]"] {
        std::fs::write(folder.path().join("graphs/001-g.jsonl"), format!("{{\"id\":\"a\",\"type\":\"t\"}}\n{wrong}\n"))
            .unwrap();
        let error = memory().import(folder.path(), ImportOptions::default()).unwrap_err();
        assert!(error.kind == ErrorKind::Invalid && error.message.contains("001-g.jsonl, line 2"), "{error}");
    }

    let (data, place, restored) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let db = Database::open(data.path(), quiet()).unwrap();
    fill(&db);
    db.backup(place.path(), BackupOptions::default()).unwrap();
    let backups = Backups::at(place.path());
    let info = backups.list().unwrap().remove(0);
    assert_eq!(
        (info.graph_names(), info.keyspace_names()),
        (vec!["empty".into(), "g".into()], vec!["settings".into()])
    );
    let target = restored.path().join("copy");
    backups.restore(&target, RestoreOptions::default()).unwrap();
    assert_eq!(everything(&Database::open(&target, quiet()).unwrap()), wanted);
}

#[test]
fn other_processes_have_the_same_graph() {
    let folder = tempfile::tempdir().unwrap();
    let holder = Database::open(folder.path(), quiet()).unwrap();
    let served = Database::open(folder.path(), quiet()).unwrap();
    assert!(!served.holder().unwrap().is_this);
    fill(&served);
    assert_eq!(everything(&served), everything(&holder));
    let (here, there) = (holder.existing_graph("g").unwrap(), served.existing_graph("g").unwrap());
    let walk = Traverse { direction: EdgeDirection::Both, ..Traverse::from(["n1"]) };
    assert_eq!(there.traverse(&walk).unwrap(), here.traverse(&walk).unwrap());
    assert_eq!(there.counts().unwrap(), here.counts().unwrap());
    assert_eq!(there.nodes(&["n1", "x"]).unwrap(), here.nodes(&["n1", "x"]).unwrap());
    assert_eq!(served.graph_names().unwrap(), ["empty", "g"]);
    assert_eq!(served.kv("g").err().unwrap().kind, ErrorKind::Invalid);
    let first = there.neighbors("n1", &both()).unwrap().neighbors[0].edge.clone();
    assert_eq!(there.edge(&first.id()).unwrap(), Some(first.clone()));
    assert_eq!(there.delete_edges(&[first.id()]).unwrap(), 1);
    let kept = served.snapshot().unwrap();
    let mut batch = WriteBatch::new();
    batch.put("settings", "with", "it").graph("g").delete_nodes(&["n1"]).unwrap();
    served.write(batch).unwrap();
    assert_eq!(here.neighbors("n1", &both()).unwrap(), NeighborPage::default());
    assert!(!kept.graph("g").unwrap().neighbors("n1", &both()).unwrap().neighbors.is_empty());
    assert_eq!(kept.graph("settings").err().unwrap().kind, ErrorKind::Invalid);
    let gone = there.delete_nodes(&["n2"]).unwrap();
    assert!(gone.nodes == 1 && gone.edges > 0);
    let transaction = served.transaction().unwrap();
    let inside = transaction.graph("g").unwrap();
    inside.put_edges(&[edge("n3", "new")]).unwrap();
    assert!(ids(&inside.neighbors("n3", &both()).unwrap()).contains(&"new"));
    here.put_edges(vec![edge("n3", "newer")]).unwrap();
    assert_eq!(transaction.commit(Durability::Commit).unwrap_err().kind, ErrorKind::Conflict);
    served.transact(3, |it| it.graph("g")?.delete_nodes(&["n3"]).map(drop)).unwrap();
    let left: HashSet<String> = ids(&here.neighbors("n3", &both()).unwrap()).into_iter().map(Into::into).collect();
    assert!(left.is_empty());
    // The other takes over.
    holder.close().unwrap();
    there.put_edges(vec![edge("after", "that")]).unwrap();
    assert_eq!(ids(&there.neighbors("after", &both()).unwrap()), ["that"]);
    assert!(served.drop_graph("g").unwrap());
}
