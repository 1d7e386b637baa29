//! CPU time, which a busy machine does not inflate as it does wall time. Measured on Linux.
#![allow(dead_code)]

/// Of this thread.
pub fn thread_seconds() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").expect("measured on Linux");
    let nanoseconds = statistics.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.expect("the first field is the time on the CPU") / 1e9
}

/// Of all threads of this process, in steps of a hundredth.
pub fn process_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("measured on Linux");
    let after_name = stat.rsplit_once(')').expect("the name is in brackets").1;
    let ticks = after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("ticks"));
    ticks.sum::<f64>() / 100.0
}
