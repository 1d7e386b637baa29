//! Places on the earth: members of a sorted set whose scores are geohashes.
//!
//! A score interleaves 26 bits of the latitude and 26 of the longitude (geohash, G. Niemeyer 2008, with the latitudes
//! of Web Mercator as Redis cuts them). Places near each other have scores near each other, except across the edges of
//! cells: a search covers its area with a few cells, reads their scores and compares each member's distance
//! (haversine).

use std::f64::consts::FRAC_PI_2;

/// Latitudes that Web Mercator has.
const LATITUDE_MAX: f64 = 85.051_128_78;
const LONGITUDE_MAX: f64 = 180.0;
/// Of each coordinate.
const BITS: u32 = 26;
const EARTH_METRES: f64 = 6_372_797.560_856;
/// Cells that a search covers its area with.
const CELLS_MAX: u64 = 9;

/// Degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub longitude: f64,
    pub latitude: f64,
}

/// The area of a search, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Area {
    Circle { radius: f64 },
    Box { width: f64, height: f64 },
}

impl Point {
    pub fn is_there(self) -> bool {
        self.longitude.abs() <= LONGITUDE_MAX && self.latitude.abs() <= LATITUDE_MAX
    }

    /// Its geohash.
    pub fn score(self) -> u64 {
        interleaved(cell(self.latitude, LATITUDE_MAX, BITS), cell(self.longitude, LONGITUDE_MAX, BITS))
    }

    /// The middle of the cell of a geohash.
    pub fn of_score(score: f64) -> Self {
        let score = score as u64;
        let middle = |cell: u64, most: f64| {
            let edge = |cell: u64| -most + cell as f64 / (1_u64 << BITS) as f64 * (2.0 * most);
            f64::midpoint(edge(cell), edge(cell + 1)).clamp(-most, most)
        };
        Self {
            longitude: middle(every_other(score >> 1), LONGITUDE_MAX),
            latitude: middle(every_other(score), LATITUDE_MAX),
        }
    }

    /// As eleven letters, over the latitudes of the standard.
    pub fn letters(self) -> String {
        const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
        let bits = interleaved(cell(self.latitude, 90.0, BITS), cell(self.longitude, LONGITUDE_MAX, BITS));
        // The eleventh would need three bits more than there are.
        let letter = |at: u32| if at == 10 { 0 } else { bits >> (52 - 5 * (at + 1)) & 31 };
        (0..11).map(|at| char::from(LETTERS[letter(at) as usize])).collect()
    }

    /// Metres along a great circle.
    pub fn metres_to(self, other: Self) -> f64 {
        let half_sine = |one: f64, other: f64| ((other.to_radians() - one.to_radians()) / 2.0).sin();
        let v = half_sine(self.longitude, other.longitude);
        if v == 0.0 {
            return EARTH_METRES * (other.latitude.to_radians() - self.latitude.to_radians()).abs();
        }
        let u = half_sine(self.latitude, other.latitude);
        let cosines = self.latitude.to_radians().cos() * other.latitude.to_radians().cos();
        2.0 * EARTH_METRES * (u * u + cosines * v * v).sqrt().asin()
    }
}

impl Area {
    /// How far a point is from the middle, if it lies within.
    pub fn metres(self, middle: Point, point: Point) -> Option<f64> {
        let metres = middle.metres_to(point);
        let is_within = match self {
            Self::Circle { radius } => metres <= radius,
            Self::Box { width, height } => {
                let along = Point { latitude: point.latitude, ..middle }.metres_to(point);
                let across = EARTH_METRES * (point.latitude - middle.latitude).to_radians().abs();
                along <= width / 2.0 && across <= height / 2.0
            }
        };
        is_within.then_some(metres)
    }

    /// The ranges of scores that cover it, each from and to (exclusive).
    pub fn scores(self, middle: Point) -> Vec<(u64, u64)> {
        let (high, wide) = self.degrees(middle);
        let (south, north) = ((middle.latitude - high).max(-LATITUDE_MAX), (middle.latitude + high).min(LATITUDE_MAX));
        let (west, east) = (middle.longitude - wide, middle.longitude + wide);
        // A range that crosses the antimeridian continues on its other side.
        let parts = match () {
            () if wide >= LONGITUDE_MAX => vec![(-LONGITUDE_MAX, LONGITUDE_MAX)],
            () if west < -LONGITUDE_MAX => vec![(-LONGITUDE_MAX, east), (west + 360.0, LONGITUDE_MAX)],
            () if east > LONGITUDE_MAX => vec![(west, LONGITUDE_MAX), (-LONGITUDE_MAX, east - 360.0)],
            () => vec![(west, east)],
        };
        let rows = |bits: u32| cell(south, LATITUDE_MAX, bits)..=cell(north, LATITUDE_MAX, bits);
        let columns =
            |(west, east): (f64, f64), bits: u32| cell(west, LONGITUDE_MAX, bits)..=cell(east, LONGITUDE_MAX, bits);
        let count = |bits: u32| -> u64 {
            let wide: u64 = parts.iter().map(|part| columns(*part, bits).count() as u64).sum();
            wide * rows(bits).count() as u64
        };
        // The smallest cells of which a few are enough. With two bits there are no more than sixteen, with one no more than four.
        let bits = (1..=BITS).take_while(|bits| count(*bits) <= CELLS_MAX).last().unwrap_or(1);
        let size = 1 << (2 * (BITS - bits));
        let cells =
            parts.iter().flat_map(|part| rows(bits).flat_map(|row| columns(*part, bits).map(move |x| (row, x))));
        let mut scores: Vec<_> = cells.map(|(row, column)| interleaved(row, column) * size).collect();
        scores.sort_unstable();
        scores.dedup();
        scores.into_iter().map(|from| (from, from + size)).collect()
    }

    /// How far it reaches to the north and south, and to the east and west.
    fn degrees(self, middle: Point) -> (f64, f64) {
        let (half_height, half_width) = match self {
            Self::Circle { radius } => (radius, radius),
            Self::Box { width, height } => (height / 2.0, width / 2.0),
        };
        let high = (half_height / EARTH_METRES).to_degrees();
        // Where meridians are nearest to each other, a great circle may lead over the pole.
        let narrowest = (middle.latitude.abs() + high).to_radians().min(FRAC_PI_2).cos();
        let half_sine = (half_width / (2.0 * EARTH_METRES)).min(FRAC_PI_2).sin() / narrowest;
        let wide = if half_sine < 1.0 { 2.0 * half_sine.asin().to_degrees() } else { LONGITUDE_MAX };
        // A cell more costs less than a member that rounding loses.
        (high * 1.001 + 1e-6, wide * 1.001 + 1e-6)
    }
}

/// Returns which cell of `bits` bits a coordinate lies in.
fn cell(degrees: f64, most: f64, bits: u32) -> u64 {
    let cells = 1_u64 << bits;
    // The last edge belongs to the last cell.
    (((degrees + most) / (2.0 * most) * cells as f64) as u64).min(cells - 1)
}

/// The bits of both in turns; the first ones have the even places.
fn interleaved(even: u64, odd: u64) -> u64 {
    fn spread(bits: u64) -> u64 {
        [
            (16, 0x0000_ffff_0000_ffff),
            (8, 0x00ff_00ff_00ff_00ff),
            (4, 0x0f0f_0f0f_0f0f_0f0f),
            (2, 0x3333_3333_3333_3333),
            (1, 0x5555_5555_5555_5555),
        ]
        .into_iter()
        .fold(bits, |bits, (shift, mask)| (bits | bits << shift) & mask)
    }
    spread(even) | spread(odd) << 1
}

/// The bits at even places.
fn every_other(bits: u64) -> u64 {
    [
        (0, 0x5555_5555_5555_5555),
        (1, 0x3333_3333_3333_3333),
        (2, 0x0f0f_0f0f_0f0f_0f0f),
        (4, 0x00ff_00ff_00ff_00ff),
        (8, 0x0000_ffff_0000_ffff),
        (16, 0x0000_0000_ffff_ffff),
    ]
    .into_iter()
    .fold(bits, |bits, (shift, mask)| (bits | bits >> shift) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back_from_their_scores() {
        let palermo = Point { longitude: 13.361389, latitude: 38.115556 };
        assert_eq!(palermo.score(), 3_479_099_956_230_698);
        let catania = Point { longitude: 15.087269, latitude: 37.502669 };
        assert_eq!(catania.score(), 3_479_447_370_796_909);
        let [palermo, catania] = [palermo, catania].map(|point| Point::of_score(point.score() as f64));
        assert_eq!(format!("{:.4}", palermo.metres_to(catania)), "166274.1516");
        assert_eq!((palermo.letters(), catania.letters()), ("sqc8b49rny0".into(), "sqdtr74hyu0".into()));
    }

    #[test]
    fn a_search_covers_every_place_within_its_area() {
        let mut dice = fastrand::Rng::with_seed(5);
        let mut point =
            || Point { longitude: dice.f64() * 360.0 - 180.0, latitude: (dice.f64() * 2.0 - 1.0) * LATITUDE_MAX };
        let mut within = 0;
        for round in 0..3000 {
            let middle = point();
            let metres = 10_f64.powf(1.0 + 6.0 * f64::from(round) / 3000.0);
            let areas = [Area::Circle { radius: metres }, Area::Box { width: metres, height: metres / 3.0 }];
            for area in areas {
                let covered = area.scores(middle);
                assert!(covered.len() as u64 <= CELLS_MAX);
                // Places nearby, and some that are far.
                for _ in 0..30 {
                    let (far, near) = (point(), point());
                    let part = metres / 4e6;
                    let near = Point {
                        longitude: (middle.longitude + near.longitude * part + 180.0).rem_euclid(360.0) - 180.0,
                        latitude: (middle.latitude + near.latitude * part).clamp(-LATITUDE_MAX, LATITUDE_MAX),
                    };
                    for place in [near, far].map(|place| Point::of_score(place.score() as f64)) {
                        if area.metres(middle, place).is_some() {
                            within += 1;
                            let score = place.score();
                            assert!(
                                covered.iter().any(|(from, to)| (*from..*to).contains(&score)),
                                "{middle:?} {place:?} {area:?}"
                            );
                        }
                    }
                }
            }
        }
        assert!(within > 10_000, "{within}");
    }
}
