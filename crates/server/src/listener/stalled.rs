//! A stream that ends when its client stalls where the HTTP library does not look: before the protocol is known, and while an
//! answer is being written.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// With which HTTP/2 begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A stream with two deadlines.
pub struct Stalled<S> {
    stream: S,
    /// Bytes so far, all of them as in the preface; `None` once it is clear which protocol it is.
    undecided: Option<usize>,
    first: Pin<Box<Sleep>>,
    write_timeout: Duration,
    write: Pin<Box<Sleep>>,
    /// The client has taken nothing since `write` was set.
    is_writing: bool,
}

impl<S> Stalled<S> {
    /// `first_timeout`: until it is clear which protocol the client speaks. `write_timeout`: how long it may take nothing.
    pub fn new(stream: S, first_timeout: Duration, write_timeout: Duration) -> Self {
        Self {
            stream,
            undecided: Some(0),
            first: Box::pin(sleep(first_timeout)),
            write_timeout,
            write: Box::pin(sleep(write_timeout)),
            is_writing: false,
        }
    }

    fn watch<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.is_writing = false;
            return written;
        }
        if !self.is_writing {
            self.is_writing = true;
            self.write.as_mut().reset(Instant::now() + self.write_timeout);
        }
        self.write.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalled<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = into.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, into);
        if let Some(seen) = this.undecided {
            let new = &into.filled()[before..];
            let expected = &PREFACE[seen..];
            let is_like = new.iter().zip(expected).all(|(one, other)| one == other);
            this.undecided = Some(seen + new.len()).filter(|seen| is_like && *seen < PREFACE.len());
            if read.is_pending() && this.first.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalled<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_client_that_does_not_say_what_it_speaks_is_let_go() {
        for begun in ["", "P", "PRI * HTTP/2.0\r\n"] {
            let (mut client, server) = duplex(64);
            client.write_all(begun.as_bytes()).await.unwrap();
            let mut server = Stalled::new(server, SHORT, LONG);
            let mut read = Vec::new();
            assert_eq!(server.read_to_end(&mut read).await.unwrap_err().kind(), io::ErrorKind::TimedOut, "{begun}");
        }
    }

    #[tokio::test]
    async fn once_the_protocol_is_known_others_keep_the_time() {
        for begun in ["POST / HTTP/1.1\r\n", "GET", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
            let (mut client, server) = duplex(64);
            client.write_all(begun.as_bytes()).await.unwrap();
            let mut server = Stalled::new(server, SHORT, LONG);
            let mut first = vec![0; begun.len()];
            server.read_exact(&mut first).await.unwrap();
            tokio::spawn(async move {
                sleep(3 * SHORT).await;
                client.write_all(b"more").await.unwrap();
            });
            let mut rest = Vec::new();
            server.read_to_end(&mut rest).await.unwrap();
            assert_eq!(rest, b"more");
        }
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_let_go() {
        let (_client, server) = duplex(8);
        let mut server = Stalled::new(server, LONG, SHORT);
        let error = server.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
