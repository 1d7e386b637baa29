//! Words of five languages that decide whether two prompts ask the same: English, German, French, Spanish and Italian.
//!
//! Each list is short on purpose. A word that is missing costs a veto, never the bound: that one is the ledger's.

/// Number words and what they say. One, which is an article in most of these languages, is left out.
pub(crate) const NUMBERS: &[(&str, &[&str])] = &[
    ("0", &["zero", "null", "zéro", "cero"]),
    ("2", &["two", "zwei", "deux", "dos", "due"]),
    ("3", &["three", "drei", "trois", "tres", "tre"]),
    ("4", &["four", "vier", "quatre", "cuatro", "quattro"]),
    ("5", &["five", "fünf", "cinq", "cinco", "cinque"]),
    ("6", &["six", "sechs", "seis", "sei"]),
    ("7", &["seven", "sieben", "sept", "siete", "sette"]),
    ("8", &["eight", "acht", "huit", "ocho", "otto"]),
    ("9", &["nine", "neun", "neuf", "nueve", "nove"]),
    ("10", &["ten", "zehn", "dix", "diez", "dieci"]),
    ("11", &["eleven", "elf", "onze", "once", "undici"]),
    ("12", &["twelve", "zwölf", "douze", "doce", "dodici"]),
    ("20", &["twenty", "zwanzig", "vingt", "veinte", "venti"]),
    ("30", &["thirty", "dreissig", "dreißig", "trente", "treinta", "trenta"]),
    ("40", &["forty", "vierzig", "quarante", "cuarenta", "quaranta"]),
    ("50", &["fifty", "fünfzig", "cinquante", "cincuenta", "cinquanta"]),
    ("100", &["hundred", "hundert", "cent", "cien", "cento"]),
    ("1000", &["thousand", "tausend", "mille", "mil"]),
    ("1e6", &["million", "millions", "millionen", "millón", "millones", "milione", "milioni"]),
    ("1e9", &["billion", "billions", "milliarde", "milliarden", "milliard", "milliards", "miliardo", "miliardi"]),
    ("1st", &["first", "erste", "ersten", "erster", "premier", "première", "primero", "primera", "primo", "prima"]),
    ("2nd", &["second", "zweite", "zweiten", "zweiter", "deuxième", "segundo", "segunda", "secondo", "seconda"]),
    ("3rd", &["third", "dritte", "dritten", "dritter", "troisième", "tercero", "tercera", "terzo", "terza"]),
    ("last", &["last", "letzte", "letzten", "letzter", "dernier", "dernière", "último", "última", "ultimo", "ultima"]),
    ("1/2", &["half", "hälfte", "moitié", "mitad", "metà"]),
];

/// Units, each by its sign.
pub(crate) const UNITS: &[(&str, &[&str])] = &[
    ("mm", &["millimetre", "millimeter", "millimètre", "milímetro", "millimetro", "millimetri"]),
    ("cm", &["centimetre", "centimeter", "zentimeter", "centimètre", "centímetro", "centimetro", "centimetri"]),
    ("m", &["metre", "meter", "mètre", "metro", "metri"]),
    ("km", &["kilometre", "kilometer", "kilomètre", "kilómetro", "chilometro", "chilometri"]),
    ("mi", &["mile", "meile", "meilen", "milla", "miglio", "miglia"]),
    ("ft", &["foot", "feet"]),
    ("in", &["inch", "inches", "zoll", "pouce", "pulgada", "pollice", "pollici"]),
    ("g", &["gram", "gramm", "gramme", "gramo", "grammo", "grammi"]),
    ("kg", &["kilogram", "kilo", "kilogramm", "kilogramme", "kilogramo", "chilogrammo", "chilo", "chili"]),
    ("lb", &["pound", "lbs", "pfund", "livre", "libra", "libbra", "libbre"]),
    ("oz", &["ounce", "unze", "once", "onza", "oncia", "once"]),
    ("t", &["tonne", "tonnellata", "tonelada"]),
    ("l", &["litre", "liter", "litro", "litri"]),
    ("ml", &["millilitre", "milliliter", "mililitro", "millilitro"]),
    ("gal", &["gallon", "gallone", "galón", "galloni"]),
    ("°C", &["celsius", "°c"]),
    ("°F", &["fahrenheit", "°f"]),
    ("K", &["kelvin"]),
    ("s", &["sec", "sekunde", "sekunden", "seconde"]),
    ("min", &["minute", "minuten", "minuto", "minuti"]),
    ("h", &["hour", "stunde", "stunden", "heure", "hora", "ora", "ore"]),
    ("d", &["day", "tag", "tage", "tagen", "jour", "día", "giorno", "giorni"]),
    ("wk", &["week", "woche", "wochen", "semaine", "semana", "settimana", "settimane"]),
    ("mo", &["month", "monat", "monate", "monaten", "mois", "mes", "meses", "mese", "mesi"]),
    ("yr", &["year", "jahr", "jahre", "jahren", "an", "ans", "année", "año", "anno", "anni"]),
    ("EUR", &["euro", "€"]),
    ("USD", &["dollar", "dólar", "dólares", "dollaro", "dollari", "$"]),
    ("GBP", &["sterling", "£", "quid"]),
    ("JPY", &["yen", "¥"]),
    ("CHF", &["franc", "franken", "franco", "franchi"]),
    ("%", &["percent", "prozent", "pourcent", "porciento", "percento"]),
    ("kB", &["kb", "kilobyte"]),
    ("MB", &["mb", "megabyte"]),
    ("GB", &["gb", "gigabyte"]),
    ("TB", &["tb", "terabyte"]),
    ("ms", &["millisecond", "millisekunde", "milliseconde", "milisegundo", "millisecondo"]),
];

/// Months, days and days from today.
pub(crate) const DATES: &[(&str, &[&str])] = &[
    ("january", &["januar", "janvier", "enero", "gennaio"]),
    ("february", &["februar", "février", "febrero", "febbraio"]),
    ("march", &["märz", "mars", "marzo"]),
    ("april", &["avril", "abril", "aprile"]),
    ("may", &["mai", "mayo", "maggio"]),
    ("june", &["juni", "juin", "junio", "giugno"]),
    ("july", &["juli", "juillet", "julio", "luglio"]),
    ("august", &["août", "agosto"]),
    ("september", &["septembre", "septiembre", "settembre"]),
    ("october", &["oktober", "octobre", "octubre", "ottobre"]),
    ("november", &["novembre", "noviembre"]),
    ("december", &["dezember", "décembre", "diciembre", "dicembre"]),
    ("monday", &["montag", "lundi", "lunes", "lunedì"]),
    ("tuesday", &["dienstag", "mardi", "martes", "martedì"]),
    ("wednesday", &["mittwoch", "mercredi", "miércoles", "mercoledì"]),
    ("thursday", &["donnerstag", "jeudi", "jueves", "giovedì"]),
    ("friday", &["freitag", "vendredi", "viernes", "venerdì"]),
    ("saturday", &["samstag", "samedi", "sábado", "sabato"]),
    ("sunday", &["sonntag", "dimanche", "domingo", "domenica"]),
    ("today", &["heute", "aujourd'hui", "hoy", "oggi"]),
    ("tomorrow", &["morgen", "demain", "mañana", "domani"]),
    ("yesterday", &["gestern", "hier", "ayer", "ieri"]),
];

/// Words that deny. Of French `ne … pas` the second half, which speech keeps.
pub(crate) const NEGATIONS: &[&str] = &[
    "not", "no", "never", "without", "none", "nothing", "nobody", "neither", "cannot", "except", "nicht", "kein",
    "keine", "keinen", "keinem", "keiner", "nie", "niemals", "ohne", "nichts", "ausser", "außer", "pas", "jamais",
    "sans", "rien", "aucun", "aucune", "sauf", "nunca", "sin", "nada", "ningún", "ninguna", "jamás", "non", "mai",
    "senza", "niente", "nessun", "nessuno", "nessuna", "tranne",
];

/// Opposites. Each side may have several forms.
pub(crate) const OPPOSITES: &[(&[&str], &[&str])] = &[
    (&["increase", "raise", "grow"], &["decrease", "reduce", "lower", "shrink"]),
    (&["increasing", "rising"], &["decreasing", "falling"]),
    (&["enable", "enabling", "activate"], &["disable", "disabling", "deactivate"]),
    (&["on"], &["off"]),
    (&["open"], &["close", "closed", "shut"]),
    (&["start", "begin", "starting"], &["stop", "end", "finish", "stopping"]),
    (&["add", "insert", "create", "adding"], &["remove", "delete", "destroy", "removing"]),
    (&["install"], &["uninstall"]),
    (&["import"], &["export"]),
    (&["upload"], &["download"]),
    (&["encode", "encrypt"], &["decode", "decrypt"]),
    (&["connect"], &["disconnect"]),
    (&["lock"], &["unlock"]),
    (&["login"], &["logout"]),
    (&["buy", "buying", "purchase"], &["sell", "selling"]),
    (&["lend"], &["borrow"]),
    (&["win", "gain"], &["lose"]),
    (&["accept", "allow", "approve", "permit"], &["reject", "refuse", "deny", "forbid", "decline"]),
    (&["include", "with"], &["exclude", "without"]),
    (&["before"], &["after"]),
    (&["above", "over"], &["below", "under"]),
    (&["inside"], &["outside"]),
    (&["up"], &["down"]),
    (&["left"], &["right"]),
    (&["first"], &["last"]),
    (&["max", "maximum", "highest", "most", "largest", "biggest"], &["min", "minimum", "lowest", "least", "smallest"]),
    (&["more", "greater", "larger", "bigger"], &["less", "fewer", "smaller"]),
    (&["high", "higher"], &["low", "lower"]),
    (&["longest", "longer", "long"], &["shortest", "shorter", "short"]),
    (&["oldest", "older", "old"], &["newest", "newer", "new", "youngest", "younger", "young"]),
    (&["fast", "faster", "fastest"], &["slow", "slower", "slowest"]),
    (&["hot", "hotter"], &["cold", "colder"]),
    (&["good", "better", "best", "pros", "advantage"], &["bad", "worse", "worst", "cons", "disadvantage"]),
    (&["advantages", "benefits", "strengths"], &["disadvantages", "drawbacks", "weaknesses"]),
    (&["safe"], &["unsafe", "dangerous"]),
    (&["legal"], &["illegal"]),
    (&["possible"], &["impossible"]),
    (&["same", "similar"], &["different"]),
    (&["public"], &["private"]),
    (&["male", "men", "man", "boy"], &["female", "women", "woman", "girl"]),
    (&["ascending"], &["descending"]),
    (&["positive"], &["negative"]),
    (&["true"], &["false"]),
    (&["always"], &["never"]),
    (&["any", "all"], &["none"]),
    (&["erhöhen", "erhöhe", "steigern"], &["senken", "senke", "verringern", "reduzieren"]),
    (&["aktivieren", "aktiviere", "einschalten"], &["deaktivieren", "deaktiviere", "ausschalten"]),
    (&["öffnen", "öffne"], &["schliessen", "schließen", "schließe"]),
    (&["kaufen", "kaufe"], &["verkaufen", "verkaufe"]),
    (&["vor"], &["nach"]),
    (&["mit"], &["ohne"]),
    (&["höchste", "höchsten", "grösste", "größte", "größten"], &["niedrigste", "niedrigsten", "kleinste", "kleinsten"]),
    (&["mehr"], &["weniger"]),
    (&["vorteile"], &["nachteile"]),
    (&["hinzufügen"], &["entfernen", "löschen"]),
    (&["augmenter"], &["réduire", "diminuer", "baisser"]),
    (&["activer"], &["désactiver"]),
    (&["ouvrir"], &["fermer"]),
    (&["acheter"], &["vendre"]),
    (&["avant"], &["après"]),
    (&["avec"], &["sans"]),
    (&["plus"], &["moins"]),
    (&["avantages"], &["inconvénients"]),
    (&["ajouter"], &["supprimer", "retirer"]),
    (&["aumentar"], &["reducir", "disminuir", "bajar"]),
    (&["activar"], &["desactivar"]),
    (&["abrir"], &["cerrar"]),
    (&["comprar"], &["vender"]),
    (&["antes"], &["después"]),
    (&["con"], &["sin", "senza"]),
    (&["más"], &["menos"]),
    (&["ventajas"], &["desventajas"]),
    (&["añadir"], &["eliminar", "quitar"]),
    (&["aumentare"], &["ridurre", "diminuire"]),
    (&["attivare"], &["disattivare"]),
    (&["aprire"], &["chiudere"]),
    (&["comprare", "acquistare"], &["vendere"]),
    (&["prima"], &["dopo"]),
    (&["più"], &["meno"]),
    (&["vantaggi"], &["svantaggi"]),
    (&["aggiungere"], &["rimuovere", "eliminare"]),
];

/// Words on which no answer depends, by language. All other words are content words.
pub(crate) const STOPWORDS: &[&[&str]] = &[
    &[
        "a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "have", "has", "had",
        "i", "you", "he", "she", "it", "we", "they", "me", "my", "your", "his", "her", "its", "our", "their", "this",
        "that", "these", "those", "of", "in", "to", "for", "and", "or", "at", "by", "as", "from", "about", "there",
        "what", "which", "who", "whom", "whose", "when", "where", "why", "how", "can", "could", "should", "would",
        "will", "shall", "may", "might", "must", "if", "then", "than", "so", "such", "please", "tell", "give",
        "explain", "show", "let", "get", "am", "some", "into", "with", "on", "s", "t",
    ],
    &[
        "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "ist", "sind",
        "war", "waren", "sein", "hat", "habe", "haben", "hatte", "ich", "du", "er", "sie", "es", "wir", "ihr", "mich",
        "mir", "dich", "dir", "sich", "mein", "meine", "meinen", "dein", "und", "oder", "in", "im", "zu", "zum", "zur",
        "von", "vom", "für", "auf", "an", "am", "bei", "aus", "als", "wie", "was", "wer", "wen", "wem", "wo", "wann",
        "warum", "welche", "welcher", "welches", "kann", "kannst", "können", "soll", "muss", "wird", "werden", "würde",
        "bitte", "dass", "man", "mit",
    ],
    &[
        "le", "la", "les", "l", "un", "une", "des", "du", "de", "d", "est", "sont", "était", "être", "a", "ont",
        "avoir", "je", "j", "tu", "il", "elle", "on", "nous", "vous", "ils", "elles", "me", "m", "te", "se", "s",
        "mon", "ma", "mes", "ton", "et", "ou", "en", "à", "au", "aux", "pour", "par", "dans", "sur", "que", "qu",
        "qui", "quoi", "quel", "quelle", "quels", "quelles", "quand", "où", "pourquoi", "comment", "combien", "peut",
        "peux", "puis", "dois", "doit", "ce", "cet", "cette", "ces", "c", "y", "ne", "n", "si", "avec",
    ],
    &[
        "el", "la", "los", "las", "un", "una", "unos", "unas", "de", "del", "es", "son", "era", "ser", "está", "están",
        "ha", "han", "haber", "yo", "tú", "él", "ella", "nosotros", "ellos", "me", "te", "se", "mi", "mis", "tu", "su",
        "y", "o", "en", "a", "al", "por", "para", "que", "qué", "quién", "cuál", "cuáles", "cuándo", "dónde", "cómo",
        "cuánto", "cuántos", "puede", "puedo", "debo", "debe", "lo", "le", "si", "con",
    ],
    &[
        "il", "lo", "la", "i", "gli", "le", "l", "un", "uno", "una", "di", "del", "della", "dei", "delle", "dell", "è",
        "sono", "era", "essere", "ha", "hanno", "avere", "io", "tu", "lui", "lei", "noi", "loro", "mi", "ti", "si",
        "mio", "mia", "e", "o", "in", "nel", "nella", "a", "al", "alla", "per", "da", "dal", "dalla", "che", "chi",
        "cosa", "quale", "quali", "quando", "dove", "perché", "come", "quanto", "quanti", "può", "posso", "devo",
        "deve", "su", "sul", "con",
    ],
];

/// Words that ask, by what they ask for.
pub(crate) const ASKING: &[(&str, &[&str])] = &[
    ("who", &["who", "whom", "whose", "wer", "wen", "wem", "qui", "quién", "chi"]),
    ("when", &["when", "wann", "quand", "cuándo", "quando"]),
    ("where", &["where", "wo", "wohin", "woher", "où", "dónde", "dove"]),
    ("why", &["why", "warum", "wieso", "pourquoi", "perché"]),
    ("how", &["how", "wie", "comment", "cómo", "come"]),
    (
        "count",
        &["many", "much", "viele", "viel", "combien", "cuánto", "cuántos", "cuántas", "quanto", "quanti", "quante"],
    ),
];

/// Words that say how far something goes.
pub(crate) const MODALS: &[(&str, &[&str])] = &[
    ("can", &["can", "could", "kann", "können", "peut", "peux", "puede", "puedo", "può", "posso"]),
    ("should", &["should", "ought", "sollte", "soll", "devrais", "debería", "dovrei"]),
    ("must", &["must", "need", "muss", "müssen", "dois", "doit", "debo", "debe", "devo", "deve"]),
    ("may", &["might", "darf", "dürfen"]),
    ("will", &["will", "wird", "werden"]),
];

/// English words that mean a number, a unit or a date in another language.
pub(crate) const FALSE_FRIENDS: &[&str] = &[
    "once", "due", "cent", "dos", "elf", "mil", "sei", "sept", "prima", "null", "an", "ans", "mes", "ore", "ora",
    "tag", "tags", "hier", "mille", "acht", "chili",
];

/// Units that are written as three letters anywhere in a prompt.
pub(crate) const CURRENCIES: &[&str] = &["EUR", "USD", "GBP", "JPY", "CHF"];

/// Words that tie things to each other: another one makes another question of the same things.
pub(crate) const RELATIONS: &[&str] = &[
    "to", "from", "for", "with", "in", "on", "by", "about", "into", "at", "as", "than", "of", "between", "over",
    "under", "if", "via", "through", "per",
];

/// Words that join things whose order says nothing.
pub(crate) const CONJUNCTIONS: &[&str] = &["and", "or", "vs", "und", "oder", "et", "ou", "y", "o", "e"];

/// Of whom a prompt speaks.
pub(crate) const PERSONS: &[(&str, &[&str])] = &[
    ("i", &["i", "my", "me", "mine", "myself"]),
    ("you", &["you", "your", "yours"]),
    ("he", &["he", "his", "him"]),
    ("she", &["she", "her"]),
    ("they", &["they", "their", "them"]),
    ("we", &["we", "our", "us"]),
];
