/** The frame: who is signed in, which page is shown, and the way to the others. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";

import { NuthatchError, type Session, SessionContext, clientOf, data, keptKey, may, operates, redeemCode } from "./api";
import { Button, Choose, Field } from "./parts/controls";
import { Problem, Waiting } from "./parts/states";
import { AuditPage } from "./pages/audit";
import { CachesPage } from "./pages/caches";
import { CollectionsPage } from "./pages/collections";
import { GraphsPage } from "./pages/graphs";
import { HealthPage } from "./pages/health";
import { MemoryPage } from "./pages/memory";
import { SearchPage } from "./pages/search";
import { TenantsPage } from "./pages/tenants";
import { TreesPage } from "./pages/trees";
import { type Route, hrefOf, useRoute } from "./route";
import { type Theme, chooseTheme, storedTheme } from "./theme";

interface Page {
  id: string;
  name: string;
  body: (route: Route) => ReactNode;
  isFor: (session: Session) => boolean;
}

const reads = (session: Session) => may(session, "read");

const PAGES: Page[] = [
  { id: "collections", name: "Collections", body: (route) => <CollectionsPage route={route} />, isFor: reads },
  { id: "search", name: "Search", body: (route) => <SearchPage route={route} />, isFor: reads },
  { id: "trees", name: "Documents and code", body: (route) => <TreesPage route={route} />, isFor: reads },
  { id: "graphs", name: "Graphs", body: (route) => <GraphsPage route={route} />, isFor: reads },
  { id: "caches", name: "Caches", body: (route) => <CachesPage route={route} />, isFor: reads },
  { id: "memory", name: "Memory and work", body: () => <MemoryPage />, isFor: operates },
  { id: "tenants", name: "Access", body: () => <TenantsPage />, isFor: () => true },
  { id: "audit", name: "Audit log", body: () => <AuditPage />, isFor: operates },
  { id: "health", name: "Doctor", body: () => <HealthPage />, isFor: operates },
];

export function App() {
  const [apiKey, setApiKey] = useState<string | undefined>(keptKey.read);
  const [code, setCode] = useState<"asking" | "done" | Error>("asking");
  const asked = useRef(false);
  useEffect(() => {
    // A code holds once: a second run of this effect must not use it up.
    if (asked.current) return;
    asked.current = true;
    redeemCode().then(
      (key) => {
        if (key !== undefined) {
          keptKey.write(key);
          setApiKey(key);
        }
        setCode("done");
      },
      (error: unknown) => setCode(error instanceof Error ? error : new Error(String(error))),
    );
  }, []);
  if (code === "asking") return <Waiting />;
  return <Entrance apiKey={apiKey} setApiKey={setApiKey} refused={code instanceof Error ? code : undefined} />;
}

/** Lets in whoever the server knows; asks the others for a key. */
function Entrance(props: {
  apiKey: string | undefined;
  setApiKey: (key: string | undefined) => void;
  refused: Error | undefined;
}) {
  const { apiKey, setApiKey } = props;
  const queries = useQueryClient();
  const [chosenTenant, setChosenTenant] = useState<string | undefined>();
  const client = useMemo(() => clientOf(apiKey, chosenTenant), [apiKey, chosenTenant]);
  const whole = useMemo(() => clientOf(apiKey, undefined), [apiKey]);
  const caller = useQuery({ queryKey: ["caller", apiKey, chosenTenant], queryFn: () => data(client.GET("/v1/caller")) });
  const signOut = () => {
    keptKey.forget();
    queries.clear();
    setChosenTenant(undefined);
    setApiKey(undefined);
  };
  if (caller.data === undefined) {
    if (caller.error === null) return <Waiting />;
    const isUnknown = caller.error instanceof NuthatchError && caller.error.status === 401;
    if (!isUnknown) {
      return (
        <main className="entrance">
          <h1>Nuthatch</h1>
          <Problem error={caller.error} />
          {chosenTenant === undefined ? null : <Button onPress={() => setChosenTenant(undefined)}>Back to the default tenant</Button>}
          {apiKey === undefined ? null : <Button onPress={signOut}>Sign out</Button>}
        </main>
      );
    }
    const refused = props.refused ?? (apiKey === undefined ? undefined : caller.error);
    return (
      <SignIn
        refused={refused}
        enter={(key) => {
          keptKey.write(key);
          setApiKey(key);
        }}
      />
    );
  }
  const session: Session = {
    client,
    whole,
    caller: caller.data,
    apiKey,
    chosenTenant,
    chooseTenant: (tenant) => {
      queries.clear();
      setChosenTenant(tenant);
    },
    signOut,
  };
  return (
    <SessionContext value={session}>
      {/* Another tenant's pages begin anew. */}
      <Frame key={chosenTenant ?? ""} session={session} />
    </SessionContext>
  );
}

function SignIn({ enter, refused }: { enter: (key: string) => void; refused: Error | undefined }) {
  const [key, setKey] = useState("");
  return (
    <main className="entrance">
      <h1>Nuthatch</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== "") enter(key.trim());
        }}
      >
        <Field
          label="API key"
          type="password"
          value={key}
          onChange={setKey}
          autoFocus
          help="What `nuthatch key create NAME --scope read` printed. This tab keeps it until it is closed, and sends it to this server alone."
        />
        <Button kind="main" type="submit">
          Sign in
        </Button>
      </form>
      {refused === undefined ? null : <Problem error={refused} />}
    </main>
  );
}

function Frame({ session }: { session: Session }) {
  const route = useRoute();
  const pages = PAGES.filter((page) => page.isFor(session));
  const page = pages.find((one) => one.id === route.parts[0]) ?? pages[0];
  const isWrong = route.parts[0] !== undefined && page?.id !== route.parts[0];
  const heading = useRef<HTMLElement>(null);
  const name = page?.name ?? "Nuthatch";
  const place = route.parts.slice(1, 2).join("");
  useEffect(() => {
    document.title = place === "" ? `${name} · Nuthatch` : `${place} · ${name} · Nuthatch`;
  }, [name, place]);
  const before = useRef(page?.id);
  useEffect(() => {
    // Whoever went to another page by a link is at its beginning, also with a screen reader.
    if (before.current !== page?.id) heading.current?.focus();
    before.current = page?.id;
  }, [page?.id]);
  return (
    <div className="frame">
      <a className="skip" href="#content" onClick={(event) => {
        event.preventDefault();
        heading.current?.focus();
      }}>
        Skip to the content
      </a>
      <header className="top">
        <a className="brand" href={hrefOf([])}>
          Nuthatch <span className="version">{session.caller.version}</span>
        </a>
        <Whose session={session} />
        <ThemeChoice />
        {session.apiKey === undefined ? null : (
          <Button kind="quiet" onPress={session.signOut}>
            Sign out
          </Button>
        )}
      </header>
      <nav aria-label="Pages" className="pages">
        <ul>
          {pages.map((one) => (
            <li key={one.id}>
              <a href={hrefOf([one.id])} aria-current={one === page ? "page" : undefined}>
                {one.name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main ref={heading} id="content" tabIndex={-1} className="content">
        {isWrong ? (
          <Problem error={new Error(`This key opens no page “${route.parts[0] ?? ""}”, so here is another.`)} />
        ) : null}
        {page?.body({ parts: isWrong ? [] : route.parts.slice(1), params: route.params })}
      </main>
    </div>
  );
}

/** Whose data is shown; administrators of the default tenant choose. */
function Whose({ session }: { session: Session }) {
  const chooses = operates(session);
  const { whole } = session;
  const tenants = useQuery({ queryKey: ["tenants"], queryFn: () => data(whole.GET("/v1/tenants")), enabled: chooses });
  const names = tenants.data?.tenants.map((tenant) => tenant.name) ?? [];
  if (!chooses || (names.length === 0 && session.chosenTenant === undefined)) {
    return session.caller.tenant === null || session.caller.tenant === undefined ? null : (
      <p className="whose">
        Tenant <strong>{session.caller.tenant}</strong>
      </p>
    );
  }
  const choices = [{ id: ":default", name: "default tenant" }, ...names.map((name) => ({ id: name, name }))];
  return (
    <Choose
      label="Tenant"
      value={session.chosenTenant ?? ":default"}
      choices={choices}
      onChange={(id) => session.chooseTenant(id === ":default" ? undefined : id)}
    />
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  return (
    <Choose
      label="Colours"
      value={theme}
      choices={[
        { id: "system", name: "as the system" },
        { id: "light", name: "light" },
        { id: "dark", name: "dark" },
      ]}
      onChange={(id) => {
        const chosen = id as Theme;
        setTheme(chosen);
        chooseTheme(chosen);
      }}
    />
  );
}
