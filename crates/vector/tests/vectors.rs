//! Metrics and what a vector must be.

use nuthatch_vector::*;

#[test]
fn metrics_parse_print_and_say_what_is_unknown() {
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        assert_eq!(metric.to_string().parse::<Metric>().unwrap(), metric);
    }
    let error = "euclid".parse::<Metric>().unwrap_err().to_string();
    assert!(error.contains("euclid") && error.contains("l2"), "{error}");
}

#[test]
fn higher_similarity_is_better_and_scores_are_what_users_know() {
    let (query, row) = ([3.0, 4.0], [6.0, 8.0]);
    assert!((Metric::Cosine.similarity(&query, &row) - 1.0).abs() < 1e-6);
    assert_eq!(Metric::Dot.similarity(&query, &row), 50.0);
    assert_eq!(Metric::L2.similarity(&query, &row), -25.0);
    assert_eq!(Metric::L2.score(-25.0), 5.0);
    assert_eq!(Metric::L2.score(1e-9), 0.0);
    assert_eq!(Metric::Dot.score(-2.0), -2.0);
}

#[test]
fn vectors_are_refused_for_what_is_wrong_with_them() {
    assert!(validate(&[1.0, 2.0], 2, Metric::Cosine).is_ok());
    assert!(validate(&[0.0, 0.0], 2, Metric::L2).is_ok());
    assert!(matches!(validate(&[0.0, -0.0], 2, Metric::Cosine), Err(VectorError::Zero)));
    assert!(matches!(validate(&[1.0; 3], 2, Metric::Dot), Err(VectorError::WrongDimension { expected: 2, found: 3 })));
    assert!(matches!(validate(&[], 0, Metric::Dot), Err(VectorError::UnsupportedDimension { dim: 0 })));
    assert!(matches!(validate(&[0.0; 4097], 4097, Metric::Dot), Err(VectorError::UnsupportedDimension { .. })));
    let error = validate(&[1.0, 2.0, f32::NEG_INFINITY], 3, Metric::L2).unwrap_err();
    assert!(error.to_string().contains("element 2 of the vector is -inf"), "{error}");
    assert!(matches!(validate(&[1e30, 1.0], 2, Metric::Dot), Err(VectorError::LengthOutOfRange { .. })));
    assert!(matches!(validate(&[1e-30, 0.0], 2, Metric::Cosine), Err(VectorError::LengthOutOfRange { .. })));
}
