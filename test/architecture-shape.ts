// Laws about the shape of the house: how wide a folder is, how long a file, which folders import each other, and that one word is one
// type. Each takes file texts or names, so that a fixture can break it. `excepted` names what breaks a law today; a test holds that
// these lists only shrink.
import { posix } from 'node:path';
import { importsOf } from './architecture.ts';

/** A reader cannot take in a folder with more entries. */
export const widestFolder = 15;
/** Beyond this a file says why, in its head. */
const longFile = 300;
const longestFile = 400;
export const mostLongFiles = 25;

/** `src` has a folder for each room and `test` mirrors it, however many rooms the design draws. */
const mirrors = new Set(['src', 'test']);

export interface Finding {
  /** What breaks the law: a folder, a file, a pair of folders or a name. */
  what: string;
  sentence: string;
}

export function wideFolders(files: readonly string[]): Finding[] {
  const entries = new Map<string, Set<string>>();
  for (const file of files) {
    const parts = file.split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join('/');
      const inside = entries.get(folder) ?? new Set();
      entries.set(folder, inside.add(parts[depth] as string));
    }
  }
  return [...entries]
    .filter(([folder, inside]) => inside.size > widestFolder && !mirrors.has(folder))
    .map(([what, { size }]) => ({
      what,
      sentence: `${what}: ${size} files and folders side by side; a reader cannot take in more than ${widestFolder}`,
    }));
}

/** A reason is in the first comment and begins with "Long because". */
export function longFiles(files: ReadonlyMap<string, string>): Finding[] {
  const found: Finding[] = [];
  let withReason = 0;
  for (const [what, text] of files) {
    const lines = text.trimEnd().split('\n').length;
    if (!what.endsWith('.ts') || lines <= longFile) continue;
    const head = text.slice(0, text.search(/^(?!\/\/)/m));
    const hasReason = /Long because/.test(head);
    if (hasReason && ++withReason > mostLongFiles)
      found.push({ what, sentence: `${what}: at most ${mostLongFiles} files may be longer than ${longFile} lines` });
    if (!hasReason)
      found.push({ what, sentence: `${what}: ${lines} lines; beyond ${longFile} its head says "Long because …"` });
    if (lines > longestFile)
      found.push({ what, sentence: `${what}: ${lines} lines; no file has more than ${longestFile}` });
  }
  return found;
}

/**
 * Folders side by side that import each other, directly or in a circle, and a folder and its child that do: '.' stands for the files
 * that lie directly in the folder.
 */
export function folderCircles(files: ReadonlyMap<string, string>): Finding[] {
  const found = new Map<string, Finding>();
  for (const [folder, graph] of graphsOf(files)) {
    for (const circle of circlesIn(graph)) {
      const names = circle.map((name) => (name === '.' ? folder : posix.join(folder, name))).sort();
      const what = names.join(' and ');
      found.set(what, { what, sentence: `${what} import each other: a folder and its neighbours import one way` });
    }
  }
  return [...found.values()];
}

/** For each folder, which of its entries import which others. The files of `src` itself are leaves and the front door. */
function graphsOf(files: ReadonlyMap<string, string>): Map<string, Map<string, Set<string>>> {
  const graphs = new Map<string, Map<string, Set<string>>>();
  for (const [file, text] of files) {
    for (const target of importsOf(file, text)) {
      const [from, to] = [file.split('/'), target.split('/')];
      let depth = 0;
      while (from[depth] === to[depth]) depth++;
      const folder = from.slice(0, depth).join('/');
      if (folder === 'src') continue;
      const entry = (parts: string[]) => (parts.length === depth + 1 ? '.' : (parts[depth] as string));
      if (entry(from) === entry(to)) continue;
      const graph = graphs.get(folder) ?? new Map<string, Set<string>>();
      graphs.set(folder, graph);
      graph.set(entry(from), (graph.get(entry(from)) ?? new Set()).add(entry(to)));
    }
  }
  return graphs;
}

/** The groups of entries of which each reaches each other. */
function circlesIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reach = (start: string): Set<string> => {
    const seen = new Set<string>();
    const open = [...(graph.get(start) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(graph.get(next) ?? []));
    }
    return seen;
  };
  const reached = new Map([...graph.keys()].map((name) => [name, reach(name)]));
  const inCircle = [...reached].filter(([name, seen]) => seen.has(name)).map(([name]) => name);
  return inCircle
    .map((name) => inCircle.filter((other) => reached.get(name)?.has(other) && reached.get(other)?.has(name)))
    .filter((group, at) => group[0] === inCircle[at]);
}

const exportedType = /^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm;

/** One word, one type. */
export function doubleNames(files: ReadonlyMap<string, string>): Finding[] {
  const homes = new Map<string, string[]>();
  for (const [file, text] of files)
    for (const [, name = ''] of text.matchAll(exportedType)) homes.set(name, [...(homes.get(name) ?? []), file]);
  return [...homes]
    .filter(([, places]) => places.length > 1)
    .map(([what, places]) => ({
      what,
      sentence: `${what} is ${places.length} types, in ${places.join(' and ')}: one word is one type`,
    }));
}

/** The findings beyond the exceptions, and the exceptions that nothing needs any more. */
export function beyond(found: readonly Finding[], excepted: readonly string[]): string[] {
  const known = new Set(excepted);
  const needed = new Set(found.map(({ what }) => what));
  return [
    ...found.filter(({ what }) => !known.has(what)).map(({ sentence }) => sentence),
    ...excepted.filter((what) => !needed.has(what)).map((what) => `${what} keeps the law now: take it off the list`),
  ];
}
