/** Waiting, problems, and that nothing is there. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { NuthatchError } from "../api";

export function Problem({ error }: { error: Error }) {
  const remedy = error instanceof NuthatchError ? error.remedy : undefined;
  const said = remedy === undefined ? error.message : error.message.replace(`; ${remedy}`, "");
  return (
    <div className="problem" role="alert">
      <p className="said">{said}</p>
      {remedy === undefined ? null : <p className="remedy">What to do: {remedy}.</p>}
    </div>
  );
}

export function Waiting() {
  return (
    <p className="waiting" role="status">
      Asking the server…
    </p>
  );
}

export function Nothing({ children }: { children: ReactNode }) {
  return <p className="nothing">{children}</p>;
}

/** What a question of the server came to. */
export function Answer<T>({ of, children }: { of: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  if (of.data !== undefined) {
    return (
      <>
        {of.error === null ? null : <Problem error={of.error} />}
        {children(of.data)}
      </>
    );
  }
  return of.error === null ? <Waiting /> : <Problem error={of.error} />;
}

/** For screen readers, and quietly for all: what an action came to. */
export function Done({ children }: { children: ReactNode }) {
  return (
    <p className="done" role="status">
      {children}
    </p>
  );
}
