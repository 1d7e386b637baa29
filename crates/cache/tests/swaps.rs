//! Generated pairs of prompts in five languages that differ in one thing, on which the answer turns.

use nuthatch_cache::{Veto, canonical};

fn veto(known: &str, asked: &str) -> Option<Veto> {
    nuthatch_cache::veto(&known.into(), &asked.into())
}

/// A prompt with a gap, and what may fill it. Any two fillings ask something else.
struct Template {
    prompts: &'static [&'static str],
    fillings: &'static [&'static str],
}

const TEMPLATES: &[Template] = &[
    // Numbers.
    Template {
        prompts: &[
            "How long does it take to boil {} eggs?",
            "Wie lange kocht man {} Eier?",
            "Combien de temps pour cuire {} œufs ?",
            "¿Cuánto tarda en cocer {} huevos?",
            "Quanto tempo per cuocere {} uova?",
        ],
        fillings: &["3", "4", "12", "120", "1,200", "0.5"],
    },
    // Units.
    Template {
        prompts: &[
            "What are 7 {} in other units?",
            "Was sind 7 {} in anderen Einheiten?",
            "Combien font 7 {} en autres unités ?",
            "¿Cuánto son 7 {} en otras unidades?",
            "Quanto fanno 7 {} in altre unità?",
        ],
        fillings: &["km", "kg", "cm", "lb", "GB", "ms", "°C", "€"],
    },
    // Dates.
    Template { prompts: &["Is the shop open on {}?"], fillings: &["Monday", "Tuesday", "Sunday", "12 May", "13 May"] },
    Template {
        prompts: &["Ist der Laden am {} offen?"],
        fillings: &["Montag", "Dienstag", "Sonntag", "12. Mai", "13. Mai"],
    },
    Template { prompts: &["Le magasin est-il ouvert {} ?"], fillings: &["lundi", "mardi", "demain", "aujourd'hui"] },
    Template {
        prompts: &["¿Está abierta la tienda el {}?"], fillings: &["lunes", "martes", "domingo", "3 de junio"]
    },
    Template { prompts: &["Il negozio è aperto {}?"], fillings: &["lunedì", "martedì", "domani", "oggi"] },
    // Negation.
    Template { prompts: &["Which mammals can{} fly?"], fillings: &["", "not", "'t never"] },
    Template { prompts: &["Welche Vögel können {}fliegen?"], fillings: &["", "nicht "] },
    Template { prompts: &["Quels oiseaux ne volent {} ?"], fillings: &["", "pas", "jamais et pas"] },
    Template { prompts: &["¿Qué aves {}vuelan?"], fillings: &["", "no "] },
    Template { prompts: &["Quali uccelli {}volano?"], fillings: &["", "non "] },
    // Opposites.
    Template { prompts: &["How do I {} the alarm?"], fillings: &["enable", "disable"] },
    Template { prompts: &["What did Rome do {} the war?"], fillings: &["before", "after"] },
    Template { prompts: &["Which country has the {} taxes?"], fillings: &["highest", "lowest"] },
    Template { prompts: &["Wie kann ich den Alarm {}?"], fillings: &["aktivieren", "deaktivieren"] },
    Template { prompts: &["Was sind die {} von Solarstrom?"], fillings: &["Vorteile", "Nachteile"] },
    Template { prompts: &["Comment {} l'alarme ?"], fillings: &["activer", "désactiver"] },
    Template { prompts: &["Quels sont les {} du solaire ?"], fillings: &["avantages", "inconvénients"] },
    Template { prompts: &["¿Cómo puedo {} la alarma?"], fillings: &["activar", "desactivar"] },
    Template { prompts: &["¿Cuáles son las {} de la energía solar?"], fillings: &["ventajas", "desventajas"] },
    Template { prompts: &["Come posso {} l'allarme?"], fillings: &["attivare", "disattivare"] },
    Template { prompts: &["Quali sono i {} del solare?"], fillings: &["vantaggi", "svantaggi"] },
    // Names of code, and quotations.
    Template {
        prompts: &["What does {} return?"],
        fillings: &["os.walk()", "os.path", "list_dir", "getName", "C++", "C#"],
    },
    Template { prompts: &["Translate \"{}\" into Latin"], fillings: &["cat", "dog", "the cat", "Cat"] },
];

/// Prompts of two things, and which orders ask something else.
const ORDERS: &[&str] = &[
    "How do I convert {} to {}?",
    "Is {} heavier than {}?",
    "Wie rechne ich {} in {} um?",
    "Ist {} schwerer als {}?",
    "Comment convertir {} en {} ?",
    "Est-ce que {} est plus lourd que {} ?",
    "¿Cómo convierto {} a {}?",
    "¿Es {} más pesado que {}?",
    "Come converto {} in {}?",
    "{} pesa più di {}?",
];
const THINGS: &[&str] = &["Silber", "Gold", "Blei", "Zinn", "Titan"];

#[test]
fn a_swap_of_what_the_answer_turns_on_never_hits() {
    let (mut pairs, mut missed) = (0, Vec::new());
    let mut check = |known: String, asked: String| {
        pairs += 1;
        if canonical(&known) == canonical(&asked) || veto(&known, &asked).is_none() {
            missed.push(format!("{known:?} and {asked:?}"));
        }
    };
    for Template { prompts, fillings } in TEMPLATES {
        for prompt in *prompts {
            let filled: Vec<String> = fillings.iter().map(|filling| prompt.replace("{}", filling)).collect();
            for (at, known) in filled.iter().enumerate() {
                for (_, asked) in filled.iter().enumerate().filter(|(other, _)| *other != at) {
                    check(known.clone(), asked.clone());
                }
            }
        }
    }
    for order in ORDERS {
        for a in THINGS {
            for b in THINGS.iter().filter(|b| *b != a) {
                check(order.replacen("{}", a, 1).replacen("{}", b, 1), order.replacen("{}", b, 1).replacen("{}", a, 1));
            }
        }
    }
    assert!(pairs >= 500, "{pairs} pairs");
    assert!(missed.is_empty(), "{} of {pairs} would hit:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn a_prompt_is_never_vetoed_against_itself() {
    for Template { prompts, fillings } in TEMPLATES {
        for prompt in *prompts {
            for filling in *fillings {
                let prompt = prompt.replace("{}", filling);
                assert_eq!(veto(&prompt, &prompt), None, "{prompt:?}");
                assert_eq!(veto(&prompt, &canonical(&prompt)), None, "{prompt:?}");
            }
        }
    }
}
