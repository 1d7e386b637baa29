//! Passing connections of Redis' clients on to the node that owns the data.
//!
//! A connection that comes while nobody owns the data waits. One whose owner goes ends, as with any server of Redis that dies: nobody
//! knows which of the commands under way were done.
//!
//! **Invariant:** a connection goes from one node to its owner and no further. Each begins with a question that a server of Redis answers
//! with an error, and a relay with a word of its own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::forward::{known, superseded};

/// How long a client waits for an owner.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);
/// To connect, and to answer the question.
const ANSWERED: Duration = Duration::from_secs(2);
const QUESTION: &[u8] = b"*1\r\n$14\r\nNUTHATCH.OWNER\r\n";
const NO: &[u8] = b"-STANDBY\r\n";
/// Of the answer of a server, which is one line.
const LINE_BYTES_MAX: usize = 1024;
const FIRST_BYTES: usize = 16 << 10;

/// Takes connections in until it is dropped; those that it has passed on go on.
pub struct Relay {
    _stop: oneshot::Sender<()>,
}

struct Relaying {
    /// Where the owner answers clients of Redis; empty while nobody knows.
    owner: watch::Receiver<String>,
    /// This node's address, as others have it, and where it listens.
    own: (String, String),
}

impl Relay {
    /// On a listener that stays open when this one stops.
    pub fn start(
        listener: std::net::TcpListener,
        owner: watch::Receiver<String>,
        own: (String, String),
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (stop, mut stopped) = oneshot::channel::<()>();
        let relaying = Arc::new(Relaying { owner, own });
        tokio::spawn(async move {
            loop {
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    _ = &mut stopped => return,
                };
                match accepted {
                    Ok((client, _)) => {
                        let relaying = relaying.clone();
                        tokio::spawn(async move {
                            if let Err(error) = relaying.pass(client).await {
                                tracing::debug!(%error, "a connection of Redis ended");
                            }
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection of Redis could not be accepted");
                        sleep(PAUSE).await;
                    }
                }
            }
        });
        Ok(Self { _stop: stop })
    }
}

impl Relaying {
    async fn pass(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        // The client speaks first.
        let mut first = vec![0; FIRST_BYTES];
        let bytes = client.read(&mut first).await?;
        first.truncate(bytes);
        if first.is_empty() {
            return Ok(());
        }
        if first == QUESTION {
            return client.write_all(NO).await;
        }
        let Some((mut owner, address)) = self.reach().await else {
            return client.write_all(b"-ERR no node owns the data; try again later\r\n").await;
        };
        owner.write_all(&first).await?;
        tokio::select! {
            ended = copy_bidirectional(&mut client, &mut owner) => ended.map(drop),
            () = superseded(self.owner.clone(), &address) => Ok(()),
        }
    }

    /// A connection to the owner, when there is one.
    async fn reach(&self) -> Option<(TcpStream, String)> {
        let until = Instant::now() + PATIENCE;
        let mut owner = self.owner.clone();
        while let Some(address) = known(&mut owner, until).await {
            let at = if address == self.own.0 { &self.own.1 } else { &address };
            if let Ok(Ok(Some(reached))) = timeout(ANSWERED, ask(at)).await {
                return Some((reached, address));
            }
            sleep(PAUSE).await;
        }
        None
    }
}

/// `None`: another relay.
async fn ask(address: &str) -> io::Result<Option<TcpStream>> {
    let mut owner = TcpStream::connect(address).await?;
    owner.set_nodelay(true)?;
    owner.write_all(QUESTION).await?;
    let mut line = Vec::new();
    while !line.ends_with(b"\n") && line.len() < LINE_BYTES_MAX {
        line.push(owner.read_u8().await?);
    }
    Ok(Some(owner).filter(|_| line != NO))
}
