//! The terminal: taken over for as long as `top` runs, and given back however it ends.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nuthatch_link::{Error, Result as EngineResult};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::sample::Sample;
use super::screen::View;
use super::source::{Source, unavailable};
use crate::exit::{Failure, Outcome};
use crate::interrupt;

/// How soon a key, a signal or a sample is noticed.
const SLICE: Duration = Duration::from_millis(50);

/// Draws until it is told to end.
pub fn run(source: &Source, every: Duration) -> Result<Outcome, Failure> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(
            Error::invalid("top draws on a terminal, and this is none; for scripts, use --once or --json").into()
        );
    }
    let stop = interrupt::silent_flag()?;
    // An error in the first sample is reported before the terminal changes.
    let mut view = View::new(source.sample()?);
    let (tell, samples) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| while sleep(every, stop) && tell.send(source.sample()).is_ok() {});
        let mut taken = Taken::over()?;
        let ended = watch(&mut taken.terminal, &mut view, &samples, stop);
        taken.give_back();
        // The other thread ends, too.
        stop.store(true, Ordering::SeqCst);
        ended.map(|()| Outcome::Done)
    })
}

/// Waits; false: it is time to end.
pub fn sleep(time: Duration, stop: &AtomicBool) -> bool {
    let until = Instant::now() + time;
    while !stop.load(Ordering::SeqCst) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(SLICE));
    }
    false
}

/// The terminal in our hands.
struct Taken {
    terminal: DefaultTerminal,
}

impl Taken {
    fn over() -> Result<Self, Failure> {
        // It also gives the terminal back where the program panics.
        let terminal = ratatui::try_init()
            .map_err(|error| unavailable(format!("cannot draw on this terminal: {error}; use --once")))?;
        Ok(Self { terminal })
    }

    fn give_back(self) {
        drop(self);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Where the terminal has gone away there is nothing to give back.
        let _ = ratatui::try_restore();
    }
}

fn watch(
    terminal: &mut DefaultTerminal,
    view: &mut View,
    samples: &Receiver<EngineResult<Sample>>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let mut is_stale = true;
    while !stop.load(Ordering::SeqCst) {
        if is_stale {
            terminal.draw(|frame| view.draw(frame))?;
            is_stale = false;
        }
        if event::poll(Duration::ZERO)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if !pressed(key, view) {
                        return Ok(());
                    }
                    is_stale = true;
                }
                Event::Resize(..) => is_stale = true,
                _ => {}
            }
            continue;
        }
        match samples.recv_timeout(SLICE) {
            Ok(sample) => {
                view.take(sample);
                is_stale = true;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
    Ok(())
}

/// False: this key ends it.
fn pressed(key: KeyEvent, view: &mut View) -> bool {
    match key.code {
        KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char(' ') => view.hold(),
        KeyCode::Down | KeyCode::Char('j') => view.scroll(1),
        KeyCode::Up | KeyCode::Char('k') => view.scroll(-1),
        KeyCode::PageDown => view.scroll(10),
        KeyCode::PageUp => view.scroll(-10),
        KeyCode::Home => view.scroll(i32::MIN),
        KeyCode::End => view.scroll(i32::MAX),
        _ => {}
    }
    true
}
