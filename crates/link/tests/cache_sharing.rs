//! Whose answers reach whom: users of one scope, scopes, tenants; and attacks by prompts that collide and by floods.

use std::collections::{BTreeMap, HashMap};

use nuthatch_link::*;

fn scope(parts: &[(&str, &str)]) -> BTreeMap<String, String> {
    parts.iter().map(|(part, value)| ((*part).to_string(), (*value).to_string())).collect()
}

fn ask(prompt: &str, user: &str) -> AskCache {
    AskCache { prompt: prompt.into(), user: Some(user.into()), ..AskCache::default() }
}

fn answer(prompt: &str, user: &str, text: &str) -> StoreAnswer {
    let response = serde_json::to_string(text).unwrap();
    StoreAnswer { prompt: prompt.into(), user: Some(user.into()), response, ..StoreAnswer::default() }
}

fn shared_later(change: CacheChange) -> (Database, Cache) {
    let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
    let cache = db.cache("answers").unwrap();
    cache.configure(&CacheChange { share_after: Some(2), ..change }).unwrap();
    (db, cache)
}

fn given(cache: &Cache, ask: &AskCache) -> Option<(CacheTier, String)> {
    let hit = cache.lookup(ask).unwrap().hit?;
    Some((hit.tier, serde_json::from_str(&hit.response).unwrap()))
}

#[test]
fn an_answer_is_its_users_own_until_two_have_the_same() {
    let (_db, cache) = shared_later(CacheChange::default());
    assert!(cache.store(answer("What is DNS?", "anna", "Names.")).unwrap().unwrap().private);
    assert_eq!(given(&cache, &ask("what's DNS", "anna")), Some((CacheTier::Canonical, "Names.".into())));
    assert_eq!(given(&cache, &ask("What is DNS?", "ben")), None);
    // The same user again is still one, and another answer does not agree.
    cache.store(answer("what is DNS", "anna", "Names.")).unwrap();
    assert!(cache.store(answer("What is DNS?", "ben", "Numbers.")).unwrap().unwrap().private);
    assert_eq!(given(&cache, &ask("What is DNS?", "cleo")), None);
    // The third agrees with the first, in other letters.
    assert!(!cache.store(answer("what is DNS ?", "cleo", "names.")).unwrap().unwrap().private);
    assert_eq!(given(&cache, &ask("What is DNS?", "dora")), Some((CacheTier::Canonical, "names.".into())));
    assert_eq!(
        given(&cache, &ask("What is DNS?", "ben")),
        Some((CacheTier::Exact, "Numbers.".into())),
        "his own first"
    );
    // Nobody in particular gets what is shared, and nothing else.
    let nobody = AskCache { user: None, ..ask("What is DNS?", "x") };
    assert_eq!(given(&cache, &nobody), Some((CacheTier::Canonical, "names.".into())));
}

#[test]
fn asking_is_enough_where_users_cannot_choose_what_is_stored() {
    let (_db, cache) = shared_later(CacheChange { share_when: Some(ShareWhen::Asked), ..CacheChange::default() });
    cache.store(answer("Tell a joke", "anna", "one")).unwrap();
    assert_eq!(given(&cache, &ask("tell a joke", "ben")), None);
    assert!(!cache.store(answer("Tell a joke", "ben", "two")).unwrap().unwrap().private);
    assert_eq!(given(&cache, &ask("tell a joke", "cleo")), Some((CacheTier::Canonical, "two".into())));
    assert_eq!(given(&cache, &ask("Tell a joke", "anna")), Some((CacheTier::Exact, "one".into())));
}

#[test]
fn a_user_must_be_named_and_whoever_runs_the_cache_may_share_at_once() {
    let (_db, cache) = shared_later(CacheChange::default());
    let nobodys = StoreAnswer { user: None, ..answer("a", "x", "1") };
    let refused = cache.store(nobodys.clone()).unwrap_err();
    assert!(refused.kind == ErrorKind::Invalid && refused.to_string().contains("`user`"), "{refused}");
    assert!(!cache.store(StoreAnswer { shared: true, ..nobodys }).unwrap().unwrap().private);
    assert_eq!(given(&cache, &ask("a", "anyone")), Some((CacheTier::Exact, "1".into())));
    let change = CacheChange { share_after: Some(0), ..CacheChange::default() };
    assert!(cache.configure(&change).unwrap_err().to_string().contains("empty cache"));
    cache.invalidate(CacheEntries::All).unwrap();
    cache.configure(&change).unwrap();
}

#[test]
fn a_scope_that_is_removed_takes_its_users_answers_along() {
    let (_db, cache) = shared_later(CacheChange::default());
    for (model, user) in [("m", "anna"), ("m", "ben"), ("n", "anna")] {
        cache.store(StoreAnswer { scope: scope(&[("model", model)]), ..answer("a", user, user) }).unwrap();
    }
    assert_eq!(cache.invalidate(CacheEntries::Scope(scope(&[("model", "m")]))).unwrap(), 2);
    let of = |model| AskCache { scope: scope(&[("model", model)]), ..ask("a", "anna") };
    assert_eq!((given(&cache, &of("m")), given(&cache, &of("n")).is_some()), (None, true));
    assert_eq!(cache.stats().unwrap().entries, 1);
}

/// Texts of victims, and prompts that an attacker made to lie at the very same point.
const VICTIMS: u64 = 200;
const TRIES: u64 = 20;

fn victim(at: u64) -> String {
    let things = ["invoice", "password", "delivery", "contract", "account", "refund", "booking", "meeting"];
    let acts = ["change", "cancel", "find", "explain", "print"];
    let whose = ["my", "our", "the last", "the first", "a second"];
    let (thing, rest) = (at as usize % things.len(), at as usize / things.len());
    let (act, rest) = (rest % acts.len(), rest / acts.len());
    format!("How do I {} {} {}?", acts[act], whose[rest % whose.len()], things[thing])
}

/// A direction for each victim, far from all others.
fn point(at: u64) -> Vec<f32> {
    let mut dice = fastrand::Rng::with_seed(at + 1);
    (0..64).map(|_| dice.f32() - 0.5).collect()
}

/// Suffixes as a search on the encoder's own vectors finds them: words that say nothing.
fn colliding(at: u64, attempt: u64) -> String {
    let mut dice = fastrand::Rng::with_seed(at * 1_000 + attempt);
    let noise: Vec<String> =
        (0..6).map(|_| (0..dice.usize(4..9)).map(|_| dice.lowercase()).collect::<String>()).collect();
    format!("Say that the answer is evil {}", noise.join(" "))
}

/// Stores colliding prompts for every victim, and says how many victims then get the attacker's answer.
fn hijacked(share_after: u64) -> u64 {
    let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
    let cache = db.cache("answers").unwrap();
    let change = CacheChange { budget: Some(0.01), share_after: Some(share_after), ..CacheChange::default() };
    cache.configure(&change).unwrap();
    for at in 0..VICTIMS {
        for attempt in 0..TRIES {
            let vector = Some(point(at)); // a perfect collision: no encoder gives the attacker more
            cache.store(StoreAnswer { vector, ..answer(&colliding(at, attempt), "mallory", "evil") }).unwrap();
        }
    }
    let mut hijacked = 0;
    for at in 0..VICTIMS {
        let asked = AskCache { vector: Some(point(at)), ..ask(&victim(at), &format!("user {at}")) };
        hijacked += u64::from(given(&cache, &asked).is_some_and(|(_, text)| text == "evil"));
    }
    hijacked
}

#[test]
fn prompts_that_collide_hijack_one_in_a_hundred_at_most_and_none_once_two_must_agree() {
    assert!(hijacked(0) <= VICTIMS / 100, "{} of {VICTIMS}", hijacked(0));
    assert_eq!(hijacked(2), 0);
}

#[test]
fn a_flood_of_one_user_and_of_one_tenant_reaches_nobody_else() {
    let (db, cache) = shared_later(CacheChange { budget: Some(0.5), max_entries: Some(50), ..CacheChange::default() });
    let other = db.create_tenant("other").unwrap().cache("answers").unwrap();
    other.configure(&CacheChange { max_entries: Some(50), ..CacheChange::default() }).unwrap();
    for at in 0..40 {
        let prompt = format!("question {at}");
        other.store(StoreAnswer { user: None, ..answer(&prompt, "x", "kept") }).unwrap();
    }
    // Two victims agree on an answer, and an attacker floods the very point where it lies.
    let vector = Some(point(7));
    for user in ["anna", "ben"] {
        cache.store(StoreAnswer { vector: vector.clone(), ..answer(&victim(7), user, "right") }).unwrap();
    }
    for at in 0..300 {
        let near = StoreAnswer { vector: vector.clone(), ..answer(&format!("{} {at}", victim(7)), "mallory", "evil") };
        cache.store(near).unwrap();
        let own = AskCache { vector: vector.clone(), ..ask(&victim(7), "cleo") };
        assert_eq!(given(&cache, &own), Some((CacheTier::Exact, "right".into())), "what is asked for stays");
        let near = AskCache { vector: vector.clone(), ..ask(&format!("{} {}", victim(7), at + 1), "cleo") };
        assert!(given(&cache, &near).is_none_or(|(_, text)| text == "right"));
    }
    assert_eq!(cache.stats().unwrap().entries, 50);
    let left = (0..40)
        .filter(|at| given(&other, &AskCache { prompt: format!("question {at}"), ..AskCache::default() }).is_some());
    assert_eq!(left.count(), 40, "another tenant's answers");
    assert_eq!(other.stats().unwrap().counts.evicted, 0);
}

/// Every answer says whose it is. A lookup by any tier gets an answer of exactly that place, or none.
#[test]
fn no_lookup_crosses_tenants_models_prompts_of_the_system_and_users() {
    let lookups = if std::env::var_os("NUTHATCH_LONG").is_some() { 1_000_000 } else { 20_000 };
    let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
    let mut dice = fastrand::Rng::with_seed(17);
    // Values that run into each other when they are put one behind the other.
    let (models, systems, users) = (["m", "mm", "", "m\0"], ["s", "ms", "", "s\0m"], ["u", "uu", "su", "u\0"]);
    let tenants: Vec<(String, Cache)> = (0..if lookups > 100_000 { 200 } else { 20 })
        .map(|at| {
            let name = format!("t{at}");
            let cache = db.create_tenant(&name).unwrap().cache("answers").unwrap();
            let share_after = Some(if at % 2 == 0 { 2 } else { 0 });
            cache.configure(&CacheChange { budget: Some(0.5), share_after, ..CacheChange::default() }).unwrap();
            (name, cache)
        })
        .collect();
    let prompts = ["What is my name?", "what's my name", "Who am I?", "Tell me my name, please"];
    let vector = |at: usize| Some(vec![1.0, 0.01 * at as f32, 0.0]);
    let mut stored: HashMap<String, u64> = HashMap::new();
    let mut hits = [0u64; 4];
    for _ in 0..lookups {
        let (tenant, cache) = &tenants[dice.usize(..tenants.len())];
        let (model, system, user) = (models[dice.usize(..4)], systems[dice.usize(..4)], users[dice.usize(..4)]);
        let at = dice.usize(..prompts.len());
        // Every second tenant has the user in the scope, the others share after two users have an answer.
        let in_scope = cache.stats().unwrap().settings.share_after == 0;
        let mut parts = vec![("model", model), ("system", system)];
        if in_scope {
            parts.push(("user", user));
        }
        let place = format!("{tenant}/{model:?}/{system:?}/{user:?}");
        let question =
            AskCache { vector: vector(at), scope: scope(&parts), judged: dice.bool(), ..ask(prompts[at], user) };
        if dice.u8(..10) == 0 {
            *stored.entry(place.clone()).or_default() += 1;
            let store = StoreAnswer { vector: vector(at), scope: scope(&parts), ..answer(prompts[at], user, &place) };
            cache.store(store).unwrap();
            continue;
        }
        let answer = cache.lookup(&question).unwrap();
        for hit in answer.hit.iter().chain(&answer.candidate) {
            let text: String = serde_json::from_str(&hit.response).unwrap();
            assert_eq!(text, place, "{question:?}");
            hits[hit.tier as usize] += 1;
            if let Some(number) = hit.hit {
                let verdict =
                    Verdict { hit: Some(number), entry: hit.entry, wrong: false, served: true, spent_nano_usd: 0 };
                cache.report(verdict).unwrap();
            }
        }
        // Nor does a lease answer with what is another's, nor does an explanation show it.
        if let CacheLease::Answered(hit) =
            cache.lease(&LeaseAnswer { ask: question.clone(), owner: place.clone(), lease_ms: 1, wait_ms: 0 }).unwrap()
        {
            assert_eq!(serde_json::from_str::<String>(&hit.response).unwrap(), place);
        }
    }
    assert!(hits.iter().all(|tier| *tier > 100), "all tiers answered: {hits:?}");
    assert!(stored.len() > 100);
}

#[test]
fn what_is_saved_is_what_the_answers_given_would_have_cost() {
    let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
    let cache = db.cache("answers").unwrap();
    cache.configure(&CacheChange { budget: Some(0.5), ..CacheChange::default() }).unwrap();
    let cost = |tokens, nano_usd| CacheCost { tokens, nano_usd };
    let near = |at: usize| Some(vec![1.0, 0.01 * at as f32]);
    let text = "How do I reset my password?";
    let stored =
        StoreAnswer { vector: near(0), cost: cost(100, 2_500_000), user: None, ..answer(text, "x", "settings") };
    cache.store(stored).unwrap();
    let question =
        |prompt: &str, at| AskCache { vector: near(at), user: None, spent_nano_usd: 1_000, ..ask(prompt, "x") };
    // By the prompt itself, at the price of the day, which is lower.
    assert_eq!(cache.lookup(&question(text, 0)).unwrap().hit.unwrap().cost, cost(100, 2_500_000));
    let cheap = AskCache { avoids: Some(cost(100, 250_000)), ..question(text, 0) };
    cache.lookup(&cheap).unwrap().hit.unwrap();
    // By meaning: right, then one that was wrong.
    let report = |hit: &CacheHit, wrong| {
        let verdict = Verdict { hit: hit.hit, entry: hit.entry, wrong, served: true, spent_nano_usd: 7_000 };
        (cache.report(verdict).unwrap(), cache.report(verdict).unwrap())
    };
    let hit = cache.lookup(&question("How can I reset the password?", 1)).unwrap().hit.unwrap();
    assert_eq!(report(&hit, false), (true, false), "a verdict counts once, and so does its cost");
    let hit = cache.lookup(&question("Resetting my password, how?", 2)).unwrap().hit.unwrap();
    report(&hit, true);
    let far = AskCache { vector: Some(vec![0.0, 1.0]), ..question("What is DNS?", 0) };
    assert!(cache.lookup(&far).unwrap().hit.is_none());
    let counts = cache.stats().unwrap().counts;
    assert_eq!(counts.saved_tokens, 400);
    assert_eq!(counts.saved_nano_usd, 2_500_000 + 250_000 + 2_500_000 + 2_500_000);
    assert_eq!((counts.lost_nano_usd, counts.judging_nano_usd), (2_500_000, 14_000));
    assert_eq!(counts.embedding_nano_usd, 5_000, "each vector once, whatever was found");
}

#[test]
fn misses_are_counted_by_their_reason() {
    let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
    let cache = db.cache("answers").unwrap();
    cache.configure(&CacheChange { budget: Some(0.05), ..CacheChange::default() }).unwrap();
    let near = Some(vec![1.0, 0.01]);
    let stored = StoreAnswer { vector: near.clone(), user: None, ..answer("What is 15% of 80?", "x", "12") };
    cache.store(stored).unwrap();
    let question = |prompt: &str| AskCache { vector: near.clone(), user: None, ..ask(prompt, "x") };
    cache.lookup(&question("What is 18% of 80?")).unwrap();
    cache.lookup(&AskCache { vector: Some(vec![0.0, 1.0]), ..question("Who?") }).unwrap();
    cache.configure(&CacheChange { mode: Some(CacheMode::Shadow), ..CacheChange::default() }).unwrap();
    cache.lookup(&question("What is 15% of 80?")).unwrap();
    let counts = cache.stats().unwrap().counts;
    assert_eq!((counts.missed_vetoed, counts.missed_absent, counts.missed_shadow, counts.misses), (1, 1, 1, 3));
}

#[test]
fn a_late_verdict_pays_when_the_answer_is_given_for_the_first_time() {
    let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
    let cache = db.cache("answers").unwrap();
    cache.configure(&CacheChange { budget: Some(0.05), ..CacheChange::default() }).unwrap();
    let near = |at: usize| Some(vec![1.0, 0.001 * at as f32]);
    let store = |prompt: &str, at: usize, text: &str| {
        cache.store(StoreAnswer { vector: near(at), user: None, ..answer(prompt, "x", text) }).unwrap().unwrap().entry
    };
    let question = |prompt: &str, at| AskCache { vector: near(at), user: None, ..ask(prompt, "x") };
    let report = |hit: Option<u64>, entry, wrong, served| {
        cache.report(Verdict { hit, entry, wrong, served, spent_nano_usd: 0 }).unwrap()
    };
    store("How do I reset my password?", 0, "settings");
    let first = cache.lookup(&question("How can I reset the password?", 1)).unwrap().hit.unwrap();
    report(first.hit, first.entry, true, true);
    // In debt: answers that might be given are held back, and offered to a later judge. Nothing is given for this one
    // now.
    let prompts = ["How could I reset my password?", "How do we reset my password?"];
    let asked = cache.lookup(&question(prompts[0], 2)).unwrap();
    assert_eq!((asked.hit, asked.candidate, asked.miss), (None, None, Some(MissReason::Unproven)));
    let [waiting] = &cache.audits(10).unwrap()[..] else { panic!("one is offered") };
    assert_eq!((waiting.asked.as_str(), waiting.served), (prompts[0], false));
    // Meanwhile the caller has computed an answer of their own; one answer is enough for both, and the judged one is
    // given.
    store(prompts[0], 2, "in the settings");
    assert!(report(Some(waiting.hit), waiting.entry, false, false));
    assert_eq!(cache.stats().unwrap().ledger.hits, 1, "it has not been given yet");
    assert_eq!(given(&cache, &question(prompts[0], 2)), Some((CacheTier::Alias, "settings".into())));
    let ledger = cache.stats().unwrap().ledger;
    assert_eq!((ledger.hits, ledger.known_wrong, ledger.pending), (2, 1, 0));
    cache.lookup(&question(prompts[0], 2)).unwrap().hit.unwrap();
    assert_eq!(cache.stats().unwrap().ledger.hits, 2, "it pays once");
    // One that is judged wrong pays nothing, and is never given.
    cache.lookup(&question(prompts[1], 3)).unwrap();
    let [waiting] = &cache.audits(10).unwrap()[..] else { panic!("one is offered") };
    report(Some(waiting.hit), waiting.entry, true, false);
    assert_eq!(given(&cache, &question(prompts[1], 3)), None);
    let ledger = cache.stats().unwrap().ledger;
    assert_eq!((ledger.hits, ledger.known_wrong), (2, 1), "nobody got it");
    let wrong = ledger.wrong.unwrap();
    assert!(wrong.low == 0.5 && wrong.low <= wrong.share && wrong.share <= wrong.high, "{wrong:?}");
}
