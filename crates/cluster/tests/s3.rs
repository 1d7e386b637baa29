//! The same on S3, as s3proxy speaks it. `scripts/s3proxy.py fetch` brings its jars; without them, or without Java, this is skipped.

mod machine;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use machine::*;
use nuthatch_cluster::*;
use nuthatch_store::{Store, StoreError};
use object_store::aws::AmazonS3Builder;
use object_store::limit::LimitStore;

/// s3proxy, which ends with this.
struct S3Proxy {
    process: Child,
    _folder: tempfile::TempDir,
}

impl Drop for S3Proxy {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn jars() -> Option<PathBuf> {
    let told = std::env::var_os("NUTHATCH_S3PROXY").map(PathBuf::from);
    let usual = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.s3proxy");
    let found = told.unwrap_or(usual);
    found.join("s3proxy.jar.list").exists().then_some(found)
}

/// A bucket on s3proxy, or nothing where there is none.
fn start() -> Option<(S3Proxy, u16)> {
    let Some(jars) = jars() else {
        eprintln!("skipped: no jars of s3proxy; `scripts/s3proxy.py fetch` brings them");
        return None;
    };
    if Command::new("java").arg("-version").stderr(Stdio::null()).status().is_err() {
        eprintln!("skipped: no Java");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let objects = folder.path().join("objects");
    std::fs::create_dir_all(objects.join("nuthatch")).unwrap(); // the bucket
    let settings = folder.path().join("s3proxy.conf");
    std::fs::write(
        &settings,
        format!(
            "s3proxy.authorization=aws-v2-or-v4\ns3proxy.identity=tester\ns3proxy.credential=secret\n\
             s3proxy.endpoint=http://127.0.0.1:{port}\njclouds.provider=filesystem-nio2\njclouds.filesystem.basedir={}\n\
             jclouds.identity=x\njclouds.credential=x\n",
            objects.display()
        ),
    )
    .unwrap();
    let process = Command::new("java")
        .args(["-Xmx128m", "-cp", &format!("{}/*", jars.display()), "org.gaul.s3proxy.Main", "--properties"])
        .arg(&settings)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let proxy = S3Proxy { process, _folder: folder };
    until(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    Some((proxy, port))
}

fn variables(port: u16, secret: &str) -> [(String, String); 5] {
    let endpoint = format!("http://127.0.0.1:{port}");
    let said = [
        ("AWS_ACCESS_KEY_ID", "tester"),
        ("AWS_SECRET_ACCESS_KEY", secret),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ENDPOINT", &endpoint),
    ];
    said.map(|(name, value)| (name.into(), value.into()))
}

fn bucket(port: u16, secret: &str) -> Bucket {
    Bucket::open_with("s3://nuthatch/some/prefix", variables(port, secret)).unwrap()
}

/// The same, one request at a time: s3proxy 2.9 looks whether an object is there and then writes it, so that of two writers at the
/// same time both may win.
fn one_at_a_time(port: u16) -> Bucket {
    let s3 = variables(port, "secret")
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value)))
        .fold(AmazonS3Builder::new().with_bucket_name("nuthatch"), |s3, (key, value)| s3.with_config(key, value))
        .with_allow_http(true)
        .with_disable_bulk_delete(true)
        .build()
        .unwrap();
    Bucket::over(Arc::new(LimitStore::new(s3, 1)), "some/prefix", "s3://nuthatch/some/prefix").unwrap()
}

#[test]
fn a_group_lives_on_s3() {
    let Some((_proxy, port)) = start() else { return };
    let raced = check_bucket(&bucket(port, "secret")).unwrap();
    let says_so = |problem: &String| problem.contains("If-None-Match");
    assert!(raced.problems.iter().all(says_so), "{raced:?}");
    let bucket = one_at_a_time(port);
    assert_eq!(check_bucket(&bucket).unwrap().problems, Vec::<String>::new());
    let log = cluster(&bucket);
    let root = tempfile::tempdir().unwrap();
    let first = owning(&log, &root.path().join("one"));
    for n in 0..20 {
        first.put(&format!("{n:02}"), &[n; 500]).unwrap();
        if n == 8 || n == 16 {
            first.store.checkpoint(2).unwrap();
        }
    }
    let oldest = log.base().checkpoints().unwrap()[0].slot;
    let left = log.slots(0).unwrap();
    assert!(left.iter().all(|(slot, _)| *slot == 1 || *slot > oldest), "trimmed to {oldest}, there is {left:?}");
    let whole = rows(&*first.store);
    let mut second = Follower::start(&log, &root.path().join("two")).unwrap();
    assert!(second.told.is_empty(), "{:?}", second.told);
    // Two nodes want the group when its owner is gone, and one gets it.
    let owner: Arc<Owner> = first.owner.clone();
    drop((first, owner));
    let mut third = Follower::start(&log, &root.path().join("three")).unwrap();
    let (stop, other) = (std::sync::atomic::AtomicBool::new(false), std::sync::atomic::AtomicBool::new(false));
    let (two, three) = std::thread::scope(|scope| {
        let two = scope.spawn(|| {
            let followed = second.follow(&stop).unwrap();
            other.store(true, std::sync::atomic::Ordering::SeqCst);
            followed
        });
        let three = third.follow(&other).unwrap();
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        (two.join().unwrap(), three)
    });
    let owners = [&two, &three].into_iter().filter(|followed| matches!(followed, Followed::Owns(2))).count();
    assert_eq!(owners, 1, "{two:?} and {three:?}");
    let winner = if matches!(two, Followed::Owns(_)) { second } else { third };
    let machine = winner.own();
    assert_eq!(rows(&*machine.store), whole);
    machine.put("after", b"v").unwrap();
    assert_eq!(checkpoint::verify(&*log).unwrap().len(), 0);
    let released = machine.owner.release("").unwrap();
    assert_eq!(released.place, 21);
    assert!(matches!(machine.store.write(put("late", b"v")), Err(StoreError::Fenced { .. })));
    // Wrong credentials are told, without the secret.
    let error = ObjectLog::open(&self::bucket(port, "another-secret")).err().unwrap().to_string();
    assert!(error.contains("credentials") && !error.contains("another-secret"), "{error}");
}
