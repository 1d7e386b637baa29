/** The server, as the console asks it: the typed client, who asks, and what they may do. */
import { createContext, useContext } from "react";

import { type Client, type Schemas, NuthatchError, connect } from "../../clients/typescript/src/index";

export { NuthatchError };
export type { Client, Schemas };

export type Scope = "read" | "write" | "admin";

export interface Session {
  client: Client;
  /** The same without a chosen tenant: for what concerns the whole folder. */
  whole: Client;
  caller: Schemas["Caller"];
  /** What a request is sent with, for copies of it as a command. */
  apiKey: string | undefined;
  /** Of an administrator of the default tenant: whose data is shown; undefined for the default tenant. */
  chosenTenant: string | undefined;
  chooseTenant: (tenant: string | undefined) => void;
  signOut: () => void;
}

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("a page was shown before anybody signed in");
  return session;
}

/** Whether the key allows this; the server decides again with every request. */
export function may(session: Session, scope: Scope): boolean {
  return session.caller.scopes.includes(scope) || session.caller.scopes.includes("admin");
}

/** Whether the key is one of the default tenant with the scope of administrators, which sees the whole database. */
export function operates(session: Session): boolean {
  return may(session, "admin") && (session.caller.tenant === null || session.chosenTenant !== undefined);
}

const KEY = "nuthatch.key";

/** The key lives as long as the tab: no other tab, no other site and no later visitor has it. */
export const keptKey = {
  read: () => sessionStorage.getItem(KEY) ?? undefined,
  write: (key: string) => sessionStorage.setItem(KEY, key),
  forget: () => sessionStorage.removeItem(KEY),
};

export function clientOf(apiKey: string | undefined, tenant: string | undefined): Client {
  return connect(location.origin, {
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(tenant === undefined ? {} : { tenant }),
  });
}

/** The key for the code of `nuthatch ui`, if the address has one; it leaves the address, and with that the history. */
export async function redeemCode(): Promise<string | undefined> {
  const code = /^#code=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return undefined;
  history.replaceState(null, "", `${location.pathname}#/`);
  const answer = await fetch("/ui/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (!answer.ok) throw new NuthatchError((await answer.json()) as Schemas["Problem"]);
  return ((await answer.json()) as { key: string }).key;
}

/** The body of an answer that was not a problem: those are thrown by the client. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  const { data } = await answer;
  if (data === undefined) throw new Error("the server answered without a body");
  return data;
}
