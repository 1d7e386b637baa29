/** Trees: files with their versions, what differs, what is in them, and what their source code means. */
import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { type Schemas, data, may, useSession } from "../api";
import { path } from "../command";
import { Button, Choose, DialogButton, Field, Panel, Tabs } from "../parts/controls";
import { Facts, bytes, count, time } from "../parts/figures";
import { Recipe } from "../parts/recipe";
import { Answer, Nothing, Problem } from "../parts/states";
import { type Route, go, hrefOf } from "../route";
import { Code } from "./code";
import { Diff, TextDiff } from "./diff";
import { Grep } from "./grep";

/** The most of a file that is shown. */
const SHOWN_BYTES = 256 * 1024;
const PAGE = 500;

export function TreesPage({ route }: { route: Route }) {
  const [name] = route.parts;
  return name === undefined ? <List /> : <One key={name} name={name} route={route} />;
}

function List() {
  const { client } = useSession();
  const trees = useQuery({ queryKey: ["trees"], queryFn: () => data(client.GET("/v1/trees")) });
  const names = trees.data?.trees ?? [];
  const infos = useQueries({
    queries: names.map((tree) => ({
      queryKey: ["tree", tree],
      queryFn: () => data(client.GET("/v1/trees/{tree}", { params: { path: { tree } } })),
    })),
  });
  return (
    <>
      <h1>Documents and code</h1>
      <Panel title="Trees">
        <Answer of={trees}>
          {({ trees }) =>
            trees.length === 0 ? (
              <Nothing>There is no tree yet: `nuthatch add FOLDER --tree NAME` makes one.</Nothing>
            ) : (
              <table>
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col" className="number">Files</th>
                    <th scope="col" className="number">Size</th>
                    <th scope="col" className="number">Versions</th>
                    <th scope="col" className="number">Snapshots</th>
                  </tr>
                </thead>
                <tbody>
                  {trees.map((tree, at) => {
                    const info = infos[at]?.data;
                    return (
                      <tr key={tree}>
                        <th scope="row"><a href={hrefOf(["trees", tree])}>{tree}</a></th>
                        <td className="number">{info === undefined ? "…" : count(info.files)}</td>
                        <td className="number">{info === undefined ? "…" : bytes(info.bytes)}</td>
                        <td className="number">{info === undefined ? "…" : count(info.versions)}</td>
                        <td className="number">{info === undefined ? "…" : count(info.snapshots)}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            )
          }
        </Answer>
      </Panel>
      <Recipe command={["tree", "list"]} request={{ method: "GET", path: path("trees") }} />
    </>
  );
}

function One({ name, route }: { name: string; route: Route }) {
  const asOf = route.params.get("as_of") ?? "";
  const file = route.params.get("path");
  const tab = route.params.get("tab") ?? "files";
  return (
    <>
      <h1>{name}</h1>
      <AsOf tree={name} asOf={asOf} onChange={(as_of) => go(["trees", name], { tab, as_of, path: file ?? undefined })} />
      <Tabs
        label="Parts of the tree"
        chosen={tab}
        onChange={(tab) => go(["trees", name], { tab, as_of: asOf })}
        tabs={[
          {
            id: "files",
            name: "Files",
            body: () =>
              file === null ? (
                <Files tree={name} asOf={asOf} below={route.params.get("below") ?? ""} />
              ) : (
                <File key={file} tree={name} asOf={asOf} file={file} line={Number(route.params.get("line") ?? 0)} />
              ),
          },
          { id: "grep", name: "Search in files", body: () => <Grep tree={name} asOf={asOf} /> },
          { id: "diff", name: "Compare", body: () => <Diff tree={name} /> },
          { id: "code", name: "Code", body: () => <Code tree={name} asOf={asOf} question={route.params.get("name") ?? ""} /> },
          { id: "about", name: "Size and snapshots", body: () => <About tree={name} /> },
        ]}
      />
    </>
  );
}

export function useSnapshots(tree: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ["tree snapshots", tree],
    queryFn: () => data(client.GET("/v1/trees/{tree}/snapshots", { params: { path: { tree } } })),
  });
}

function AsOf(props: { tree: string; asOf: string; onChange: (asOf: string) => void }) {
  const snapshots = useSnapshots(props.tree);
  const names = snapshots.data?.snapshots.map((one) => one.name) ?? [];
  const { asOf } = props;
  const others = asOf === "" || names.includes(asOf) ? [] : [{ id: asOf, name: `sequence ${asOf}` }];
  return (
    <Choose
      label="As of"
      value={asOf === "" ? ":now" : asOf}
      choices={[{ id: ":now", name: "now" }, ...others, ...names.map((name) => ({ id: name, name }))]}
      onChange={(id) => props.onChange(id === ":now" ? "" : id)}
    />
  );
}

/** Shown as `TREE@AS_OF` by commands. */
export function asOfArguments(asOf: string): string[] {
  return asOf === "" ? [] : ["--as-of", asOf];
}

function Files({ tree, asOf, below }: { tree: string; asOf: string; below: string }) {
  const { client } = useSession();
  const [afters, setAfters] = useState<string[]>([]);
  const after = afters.at(-1);
  const query = {
    limit: PAGE,
    ...(below === "" ? {} : { below }),
    ...(asOf === "" ? {} : { as_of: asOf }),
    ...(after === undefined ? {} : { after }),
  };
  const page = useQuery({
    queryKey: ["entries", tree, query],
    queryFn: () => data(client.GET("/v1/trees/{tree}/entries", { params: { path: { tree }, query } })),
  });
  const parts = below === "" ? [] : below.split("/");
  return (
    <>
      <nav aria-label="Folder" className="crumbs">
        <a href={hrefOf(["trees", tree], { as_of: asOf })}>{tree}</a>
        {parts.map((part, at) => (
          <span key={at}>
            {" / "}
            <a href={hrefOf(["trees", tree], { as_of: asOf, below: parts.slice(0, at + 1).join("/") })}>{part}</a>
          </span>
        ))}
      </nav>
      <Answer of={page}>
        {({ entries, cursor }) => (
          <>
            {entries.length === 0 ? <Nothing>Nothing is here.</Nothing> : null}
            <div className="scroll" tabIndex={0} role="region" aria-label="Files">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Path</th>
                    <th scope="col" className="number">Size</th>
                    <th scope="col">Changed</th>
                    <th scope="col">Stored</th>
                  </tr>
                </thead>
                <tbody>
                  {foldersAndFiles(entries, below).map((row) =>
                    "folder" in row ? (
                      <tr key={`${row.folder}/`}>
                        <th scope="row">
                          <a href={hrefOf(["trees", tree], { as_of: asOf, below: row.folder })}>{row.name}/</a>
                        </th>
                        <td className="number">{bytes(row.bytes)}</td>
                        <td colSpan={2}>{count(row.files)} files{cursor === null || cursor === undefined ? "" : " on this page"}</td>
                      </tr>
                    ) : (
                      <tr key={row.path}>
                        <th scope="row">
                          {row.kind === "file" ? (
                            <a href={hrefOf(["trees", tree], { as_of: asOf, path: row.path })}>{row.path.slice(below === "" ? 0 : below.length + 1)}</a>
                          ) : (
                            `${row.path} (${row.kind}${typeof row.target === "string" ? ` to ${row.target}` : ""})`
                          )}
                        </th>
                        <td className="number">{bytes(row.bytes)}</td>
                        <td>{time(row.modified_ns / 1e6)}</td>
                        <td>{time(row.recorded_ms)}</td>
                      </tr>
                    ),
                  )}
                </tbody>
              </table>
            </div>
            {afters.length === 0 && (cursor === null || cursor === undefined) ? null : (
              <div className="actions">
                <Button isDisabled={afters.length === 0} onPress={() => setAfters(afters.slice(0, -1))}>Previous page</Button>
                <Button
                  isDisabled={cursor === null || cursor === undefined}
                  onPress={() => {
                    if (typeof cursor === "string") setAfters([...afters, cursor]);
                  }}
                >
                  Next page
                </Button>
              </div>
            )}
          </>
        )}
      </Answer>
      <Recipe
        command={["ls", ...(below === "" ? [] : [below]), "--tree", tree, ...asOfArguments(asOf)]}
        request={{ method: "GET", path: `${path("trees", tree)}/entries`, query }}
      />
    </>
  );
}

type Row = Schemas["TreeEntry"] | { folder: string; name: string; files: number; bytes: number };

/** The entries of one folder; what lies deeper is counted for its folder. */
export function foldersAndFiles(entries: Schemas["TreeEntry"][], below: string): Row[] {
  const folders = new Map<string, { folder: string; name: string; files: number; bytes: number }>();
  const files: Row[] = [];
  const start = below === "" ? "" : `${below}/`;
  for (const entry of entries) {
    if (!entry.path.startsWith(start)) continue;
    const rest = entry.path.slice(start.length);
    const slash = rest.indexOf("/");
    if (slash === -1) {
      if (entry.kind !== "folder") files.push(entry);
      continue;
    }
    const name = rest.slice(0, slash);
    const folder = folders.get(name) ?? { folder: `${start}${name}`, name, files: 0, bytes: 0 };
    if (entry.kind === "file") {
      folder.files += 1;
      folder.bytes += entry.bytes;
    }
    folders.set(name, folder);
  }
  return [...folders.values(), ...files];
}

/** The beginning of a file's bytes as text. */
export function useText(tree: string, file: string, asOf: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ["file", tree, file, asOf],
    queryFn: async () => {
      const query = asOf === "" ? {} : { as_of: asOf };
      const header = { range: `bytes=0-${SHOWN_BYTES - 1}` };
      // The path's slashes are parts of the address, so it is not one encoded segment.
      const { data: blob, response } = await client.GET("/v1/trees/{tree}/files/{path}", {
        params: { path: { tree, path: file }, query, header },
        parseAs: "arrayBuffer",
      });
      const content = new Uint8Array((blob ?? new ArrayBuffer(0)) as unknown as ArrayBuffer);
      const whole = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1];
      const isText = !content.subarray(0, 8192).includes(0);
      return { text: isText ? new TextDecoder().decode(content) : undefined, bytes: Number(whole ?? content.length), shown: content.length };
    },
  });
}

function File({ tree, asOf, file, line }: { tree: string; asOf: string; file: string; line: number }) {
  const { client } = useSession();
  const [against, setAgainst] = useState<number>();
  const versions = useQuery({
    queryKey: ["versions", tree, file],
    queryFn: () => data(client.GET("/v1/trees/{tree}/versions", { params: { path: { tree }, query: { path: file } } })),
  });
  const text = useText(tree, file, asOf);
  const folder = file.includes("/") ? file.slice(0, file.lastIndexOf("/")) : "";
  return (
    <>
      <p className="crumbs"><a href={hrefOf(["trees", tree], { as_of: asOf, below: folder })}>Back to {folder === "" ? tree : folder}</a></p>
      <Panel title={file}>
        <Answer of={text}>
          {({ text, bytes: size, shown }) => (
            <>
              <p className="help">
                {bytes(size)}
                {shown < size ? `; the first ${bytes(shown)} are shown` : ""}
              </p>
              {text === undefined ? <Nothing>These bytes are no text.</Nothing> : against === undefined ? <Lines text={text} line={line} /> : (
                <TextDiff tree={tree} file={file} from={String(against)} to={asOf} />
              )}
            </>
          )}
        </Answer>
      </Panel>
      <Panel title="Versions">
        <Answer of={versions}>
          {({ versions }) => (
            <table>
              <thead>
                <tr><th scope="col" className="number">Sequence</th><th scope="col">Stored</th><th scope="col" className="number">Size</th><th scope="col">Content</th><th scope="col">Look</th></tr>
              </thead>
              <tbody>
                {versions.map((version) => (
                  <tr key={version.sequence}>
                    <th scope="row" className="number">{version.sequence}</th>
                    <td>{time(version.recorded_ms)}</td>
                    <td className="number">{version.kind === "gone" ? "removed" : bytes(version.bytes)}</td>
                    <td><code>{version.content?.slice(0, 12) ?? ""}</code></td>
                    <td>
                      {version.kind === "gone" ? null : (
                        <>
                          <a href={hrefOf(["trees", tree], { as_of: String(version.sequence), path: file })}>Show {version.sequence}</a>{" "}
                          <Button kind="quiet" onPress={() => setAgainst(against === version.sequence ? undefined : version.sequence)}>
                            {against === version.sequence ? `Stop comparing with ${version.sequence}` : `Compare with ${version.sequence}`}
                          </Button>
                        </>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Answer>
      </Panel>
      <Recipe
        command={["get", file, "--tree", tree, ...asOfArguments(asOf)]}
        request={{ method: "GET", path: `${path("trees", tree)}/files/${file.split("/").map(encodeURIComponent).join("/")}`, query: { as_of: asOf } }}
      />
      <Recipe command={["log", "--tree", tree, file]} request={{ method: "GET", path: `${path("trees", tree)}/versions`, query: { path: file } }} />
    </>
  );
}

function Lines({ text, line }: { text: string; line: number }) {
  const lines = text.split("\n");
  return (
    <pre className="lines" tabIndex={0} aria-label="Content">
      {lines.map((one, at) => (
        <span
          key={at}
          className={at + 1 === line ? "numbered shown" : "numbered"}
          ref={at + 1 === line ? (element) => element?.scrollIntoView({ block: "center" }) : null}
        >
          <span className="at" aria-hidden="true">{at + 1}</span>
          {`${one}\n`}
        </span>
      ))}
    </pre>
  );
}

function About({ tree }: { tree: string }) {
  const session = useSession();
  const { client } = session;
  const info = useQuery({ queryKey: ["tree", tree], queryFn: () => data(client.GET("/v1/trees/{tree}", { params: { path: { tree } } })) });
  const snapshots = useSnapshots(tree);
  return (
    <>
      <Panel title="Size">
        <Answer of={info}>
          {(info) => (
            <Facts
              of={[
                ["Files", info.files],
                ["Bytes of the files now", bytes(info.bytes)],
                ["Versions", info.versions],
                ["Contents of all trees together", info.together.contents],
                ["Their bytes", bytes(info.together.content_bytes)],
                ["Bytes of their chunks, each stored once", bytes(info.together.chunk_bytes)],
                ["Kept versions", info.retention.versions ?? "all"],
              ]}
            />
          )}
        </Answer>
      </Panel>
      <Panel title="Snapshots" actions={may(session, "write") ? <NameSnapshot tree={tree} /> : null}>
        <Answer of={snapshots}>
          {({ snapshots }) =>
            snapshots.length === 0 ? <Nothing>The tree has no snapshot.</Nothing> : (
              <ul>
                {snapshots.map((one) => (
                  <li key={one.name}>
                    <a href={hrefOf(["trees", tree], { as_of: one.name })}>{one.name}</a> of {time(one.created_ms)}, sequence {one.sequence}
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Panel>
      <Recipe command={["snapshot", "list", "--tree", tree]} request={{ method: "GET", path: `${path("trees", tree)}/snapshots` }} />
    </>
  );
}


function NameSnapshot({ tree }: { tree: string }) {
  const { client } = useSession();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [error, setError] = useState<Error>();
  const make = async (close: () => void) => {
    try {
      await client.POST("/v1/trees/{tree}/snapshots", { params: { path: { tree } }, body: { name } });
      await queries.invalidateQueries({ queryKey: ["tree snapshots", tree] });
      await queries.invalidateQueries({ queryKey: ["tree", tree] });
      close();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <DialogButton label="Name this state…" title={`Name ${tree} as it stands`}>
      {(close) => (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void make(close);
          }}
        >
          <Field label="Name" value={name} onChange={setName} isRequired autoFocus />
          {error === undefined ? null : <Problem error={error} />}
          <Recipe
            command={["snapshot", "create", name === "" ? "NAME" : name, "--tree", tree]}
            request={{ method: "POST", path: `${path("trees", tree)}/snapshots`, body: { name } }}
          />
          <div className="actions">
            <Button kind="main" type="submit">Create</Button>
            <Button onPress={close}>Cancel</Button>
          </div>
        </form>
      )}
    </DialogButton>
  );
}
