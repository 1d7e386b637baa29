/** A text of any length: its beginning, and the rest when somebody asks for it. */
import { useState } from "react";

import { Button } from "./controls";
import { count } from "./figures";

/** About what six lines hold. */
const SHORT_CHARS = 600;

export function LongText({ text, of }: { text: string; of: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= SHORT_CHARS) return <p className="text">{text}</p>;
  // Not in the middle of a character of two code units.
  const start = text.slice(0, SHORT_CHARS).replace(/[\uD800-\uDBFF]$/, "");
  return (
    <>
      <p className="text">{isWhole ? text : `${start}…`}</p>
      <Button kind="quiet" aria-expanded={isWhole} aria-label={`${isWhole ? "Show less" : "Show all"} of ${of}`} onPress={() => setWhole(!isWhole)}>
        {isWhole ? "Show less" : "Show all"}
      </Button>
      <span className="help"> {count(text.length)} characters</span>
    </>
  );
}
