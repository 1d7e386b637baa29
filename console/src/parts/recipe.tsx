/** The same thing without the console: as a command, with curl, in Python. */
import { useState } from "react";

import { type Request, commandLine, curl, python } from "../command";
import { useSession } from "../api";
import { Button } from "./controls";

export function Copyable({ name, text }: { name: string; text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <div className="copyable">
      <span className="copyable-name">{name}</span>
      <pre tabIndex={0} aria-label={name}>
        <code>{text}</code>
      </pre>
      <Button kind="quiet" onPress={() => void copy()} aria-label={`Copy: ${name}`}>
        {copied ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}

interface RecipeProps {
  /** Arguments of the command; undefined where the command has none for this. */
  command?: (string | undefined)[] | undefined;
  request: Request;
  /** It concerns the whole folder, whichever tenant is looked at. */
  isWhole?: boolean;
  /** Lines within `with nuthatch.connect(…) as db:`. */
  python?: string[];
}

export function Recipe(props: RecipeProps) {
  const asked = useSession();
  const session = props.isWhole === true ? { ...asked, chosenTenant: undefined, caller: { ...asked.caller, tenant: null } } : asked;
  return (
    <div className="recipe" role="group" aria-label="The same from elsewhere">
      {props.command === undefined ? null : <Copyable name="Shell" text={commandLine(session, props.command)} />}
      <details open={props.command === undefined}>
        <summary>{props.python === undefined ? "curl" : "curl and Python"}</summary>
        <Copyable name="curl" text={curl(session, props.request)} />
        {props.python === undefined ? null : <Copyable name="Python" text={python(session, props.python)} />}
      </details>
    </div>
  );
}
