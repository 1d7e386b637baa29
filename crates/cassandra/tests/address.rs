//! The address of a log in Cassandra, the settings from the environment, and the number of copies that a keyspace
//! keeps.

use nuthatch_cassandra::{Address, Settings, copies};

fn parsed(text: &str) -> Address {
    Address::parse(text).unwrap().expect("an address of Cassandra")
}

fn refused(text: &str) -> String {
    Address::parse(text).unwrap_err().to_string()
}

#[test]
fn an_address_names_hosts_a_keyspace_and_a_bucket() {
    let address = parsed("cassandra://h1,10.0.0.2:9142,[::1],[fe80::2]:99/memory?bucket=s3://b/p/");
    let host = |name: &str, port| (name.to_string(), port);
    assert_eq!(address.hosts, [host("h1", 9042), host("10.0.0.2", 9142), host("::1", 9042), host("fe80::2", 99)]);
    assert_eq!((address.keyspace.as_str(), address.bucket.as_str()), ("memory", "s3://b/p"));
    assert_eq!(address.to_string(), "cassandra://h1,10.0.0.2:9142,[::1],[fe80::2]:99/memory");
    assert_eq!(parsed("scylla://h/k?bucket=file:///x"), parsed("cassandra://h/k?bucket=file:///x"));
    assert_eq!(Address::parse("s3://b/p").unwrap(), None);
    assert_eq!(Address::parse("file:///x").unwrap(), None);
}

#[test]
fn an_address_that_cannot_be_used_says_what_to_give() {
    for text in [
        "cassandra://h",
        "cassandra:///k?bucket=s3://b",
        "cassandra://h:0/k?bucket=s3://b",
        "cassandra://h:x/k?bucket=s3://b",
        "cassandra://h,,g/k?bucket=s3://b",
        "cassandra://h/K?bucket=s3://b",
        "cassandra://h/1k?bucket=s3://b",
        "cassandra://h/k;drop?bucket=s3://b",
        "cassandra://h/k",
        "cassandra://h/k?bucket=",
        "cassandra://h/k?bucket=s3://b&consistency=one",
    ] {
        let error = refused(text);
        assert!(error.contains("give cassandra://HOST,HOST/KEYSPACE?bucket="), "{text}: {error}");
    }
    assert!(refused(&format!("cassandra://h/{}?bucket=s3://b", "k".repeat(49))).contains("no keyspace"));
}

#[test]
fn a_password_in_an_address_is_refused_and_not_shown() {
    let error = refused("cassandra://user:hunter2@h/k?bucket=s3://b");
    assert!(error.contains("NUTHATCH_CASSANDRA_PASSWORD_FILE") && !error.contains("hunter2"), "{error}");
}

fn settings(variables: &[(&str, &str)]) -> Result<Settings, String> {
    let found = |name: &str| {
        let value = variables.iter().find(|(known, _)| name == format!("NUTHATCH_CASSANDRA_{known}"));
        value.map(|(_, value)| value.to_string())
    };
    Settings::of(found).map_err(|error| error.to_string())
}

#[test]
fn credentials_come_from_the_environment_or_a_file_and_are_not_shown() {
    assert_eq!(settings(&[]).unwrap(), Settings::default());
    let given = settings(&[("USER", "u"), ("PASSWORD", "hunter2")]).unwrap();
    assert_eq!(given.credentials.as_ref().unwrap().password, "hunter2");
    assert!(!format!("{given:?}").contains("hunter2"), "{given:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "from-a-file\n").unwrap();
    let given = settings(&[("USER", "u"), ("PASSWORD_FILE", file.to_str().unwrap())]).unwrap();
    assert_eq!(given.credentials.unwrap().password, "from-a-file");
    let missing = settings(&[("USER", "u"), ("PASSWORD_FILE", "/nowhere/password")]).unwrap_err();
    assert!(missing.contains("/nowhere/password"), "{missing}");
}

#[test]
fn half_of_a_pair_is_refused() {
    for variables in [
        &[("USER", "u")][..],
        &[("PASSWORD", "hunter2")],
        &[("USER", "u"), ("PASSWORD", "hunter2"), ("PASSWORD_FILE", "/x")],
        &[("CA", "/ca"), ("CERT", "/c")],
        &[("CERT", "/c"), ("KEY", "/k")],
    ] {
        let error = settings(variables).unwrap_err();
        assert!(error.contains("NUTHATCH_CASSANDRA_") && !error.contains("hunter2"), "{error}");
    }
}

#[test]
fn copies_of_all_data_centres_count_and_transient_ones_do_not() {
    let of = |pairs: &[(&'static str, &'static str)]| copies(&pairs.iter().copied().collect());
    assert_eq!(of(&[("class", "org.apache.cassandra.locator.SimpleStrategy"), ("replication_factor", "1")]), 1);
    assert_eq!(of(&[("class", "NetworkTopologyStrategy"), ("dc1", "3"), ("dc2", "2")]), 5);
    assert_eq!(of(&[("class", "NetworkTopologyStrategy"), ("dc1", "3/1")]), 2);
    assert_eq!(of(&[("class", "LocalStrategy")]), 0);
}
