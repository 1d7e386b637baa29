//! The beta distribution, as far as a bound on a share needs it.

/// Halvings of the interval in which a quantile lies.
const HALVINGS: usize = 30;
/// Terms of the continued fraction; it converges in about the square root of the larger parameter.
const TERMS: usize = 200;
/// Lanczos' approximation of the gamma function with g = 5 and six terms (Numerical Recipes, section 6.1).
const LANCZOS: [f64; 6] = [
    76.180_091_729_471_46,
    -86.505_320_329_416_77,
    24.014_098_240_830_91,
    -1.231_739_572_450_155,
    0.001_208_650_973_866_179,
    -0.000_005_395_239_384_953,
];

/// The value that a share with the distribution Beta(a, b) exceeds with probability `1 - level`.
pub(crate) fn quantile(a: f64, b: f64, level: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if cumulative(a, b, middle) < level { low = middle } else { high = middle }
    }
    high
}

/// The regularised incomplete beta function.
fn cumulative(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front * fraction(a, b, x) / a,
        false => 1.0 - front * fraction(b, a, 1.0 - x) / b,
    }
}

/// Its continued fraction, by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)));
    let mut product = d;
    for term in 1..TERMS {
        let m = term as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + coefficient * d);
            c = away_from_zero(1.0 + coefficient / c);
            step = d * c;
            product *= step;
        }
        if (step - 1.0).abs() < 1e-10 {
            break;
        }
    }
    product
}

fn ln_gamma(x: f64) -> f64 {
    let base = x + 5.5;
    let sum: f64 = LANCZOS.iter().enumerate().map(|(at, term)| term / (x + 1.0 + at as f64)).sum();
    (x + 0.5) * base.ln() - base + (2.506_628_274_631_000_5 * (1.000_000_000_190_015 + sum) / x).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_known_distributions() {
        // Beta(1, n) has the quantile 1 - (1 - level)^(1/n), Beta(n, 1) has level^(1/n), and Beta(1/2, 1/2) is the arcsine's.
        for n in [1.0, 7.0, 50.0, 4_000.0] {
            let wanted = 1.0 - 0.1f64.powf(1.0 / n);
            assert!((quantile(1.0, n, 0.9) - wanted).abs() < 1e-8, "{n}");
            assert!((quantile(n, 1.0, 0.9) - 0.9f64.powf(1.0 / n)).abs() < 1e-8, "{n}");
        }
        let wanted = (std::f64::consts::PI * 0.45).sin().powi(2);
        assert!((quantile(0.5, 0.5, 0.9) - wanted).abs() < 1e-8);
        assert!((cumulative(30.0, 70.0, 0.3) - 0.511_625).abs() < 1e-5);
    }
}
