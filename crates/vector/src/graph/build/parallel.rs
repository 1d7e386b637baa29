//! Handing tasks to threads.

use std::sync::Mutex;

/// Runs every task once, on as many threads as there are workers. Which worker takes which task is left to chance, so a
/// task's result must depend on the task alone.
pub(super) fn for_each<W: Send, T: Send>(workers: &mut [W], tasks: Vec<T>, run: impl Fn(&mut W, T) + Sync) {
    if tasks.len() <= 1 || workers.len() == 1 {
        let worker = &mut workers[0];
        return tasks.into_iter().for_each(|task| run(worker, task));
    }
    let tasks = Mutex::new(tasks.into_iter());
    let next = || tasks.lock().ok().and_then(|mut tasks| tasks.next());
    let work = |worker: &mut W| {
        while let Some(task) = next() {
            run(worker, task);
        }
    };
    std::thread::scope(|scope| {
        let (first, others) = workers.split_first_mut().expect("at least one worker");
        for worker in others {
            scope.spawn(|| work(worker));
        }
        work(first);
    });
}
