//! Which instruction set a kernel may use, and how a call gets there.

use std::sync::OnceLock;

/// An instruction set that this CPU has. There is no way to name one that it has not, which is what makes the `_on`
/// functions safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// The fastest one here.
    #[inline]
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| *Self::supported().last().expect("scalar is always there"))
    }

    /// Every one that this CPU has, slowest first.
    pub fn supported() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut levels = vec![Self(Kind::Scalar)];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("popcnt")
        {
            levels.push(Self(Kind::Avx2));
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni")
            {
                levels.push(Self(Kind::Avx512));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            levels.push(Self(Kind::Neon));
        }
        levels
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        self.0
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.pad(match self.0 {
            Kind::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2+fma",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512+vnni",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
        })
    }
}

/// Runs the implementation of one level. The calls are sound because a `Level` exists only where the CPU has it.
macro_rules! dispatch {
    ($level:expr, $kernel:ident($($argument:expr),*)) => {
        match $level.kind() {
            $crate::level::Kind::Scalar => $crate::scalar::$kernel($($argument),*),
            // SAFETY: a `Level` of this kind is only made after the CPU reported AVX2, FMA, F16C and POPCNT; lengths were checked
            // above.
            #[cfg(target_arch = "x86_64")]
            $crate::level::Kind::Avx2 => unsafe { $crate::avx2::$kernel($($argument),*) },
            // SAFETY: a `Level` of this kind is only made after the CPU reported AVX-512 F, BW, VL and VNNI on top of AVX2;
            // lengths were checked above.
            #[cfg(target_arch = "x86_64")]
            $crate::level::Kind::Avx512 => unsafe { $crate::avx512::$kernel($($argument),*) },
            // SAFETY: a `Level` of this kind is only made after the CPU reported NEON; lengths were checked above.
            #[cfg(target_arch = "aarch64")]
            $crate::level::Kind::Neon => unsafe { $crate::neon::$kernel($($argument),*) },
        }
    };
}
pub(crate) use dispatch;
