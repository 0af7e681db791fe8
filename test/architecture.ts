// The laws of the architecture as functions over file texts, so that a fixture can break each law.
import { posix } from 'node:path';

/** Rooms import from lower floors and from themselves. */
export const floors: Record<string, number> = {
  // The launcher is plain JavaScript for any Node, so it imports no other room.
  launcher: 0,
  object: 1,
  pace: 1,
  config: 2,
  expression: 2,
  cluster: 2,
  queue: 2,
  store: 2,
  sync: 3,
  apiserver: 3,
  management: 4,
  devcluster: 4,
  daemon: 4,
  pages: 4,
  cli: 5,
};

/**
 * Small rooms inside big ones, with floors of their own. '.' stands for the files that lie directly in the big room; the files of
 * `ground` lie there too and are for all its small rooms.
 */
export const smallRooms: Record<string, { floors: Record<string, number>; ground: readonly string[] }> = {
  apiserver: {
    floors: {
      tls: 1,
      request: 1,
      limits: 2,
      kinds: 2,
      wire: 3,
      local: 4,
      caller: 4,
      meta: 4,
      chain: 5,
      verbs: 5,
      owners: 6,
      discovery: 6,
      '.': 7,
    },
    ground: [],
  },
  cli: { floors: { line: 1, about: 2, offline: 2, running: 2, keys: 3, demo: 3, doctor: 4, '.': 5 }, ground: [] },
  cluster: {
    floors: { credentials: 1, wire: 2, write: 3, window: 3, '.': 4 },
    ground: ['answer.ts', 'errors.ts', 'metrics.ts', 'permission.ts'],
  },
  config: { floors: { yaml: 1, settings: 2, load: 3, '.': 4 }, ground: ['fault.ts', 'steps.ts'] },
  daemon: { floors: { process: 1, operations: 1, options: 2, synced: 3, clusters: 4, '.': 5 }, ground: [] },
  devcluster: { floors: { rbac: 1, kinds: 2, '.': 3 }, ground: [] },
  expression: {
    floors: { path: 1, language: 1, realm: 2, sandbox: 3, evaluate: 4, '.': 5 },
    ground: ['limits.ts'],
  },
  management: { floors: { scope: 1, keys: 2, audit: 3, credentials: 3, proxy: 4, server: 5, '.': 6 }, ground: [] },
  pages: {
    floors: { browser: 1, frame: 2, status: 3, playground: 3, '.': 4 },
    ground: ['playground-api.ts', 'playground-link.ts', 'script-headers.ts'],
  },
  object: { floors: { text: 1, meta: 2, patch: 3, fields: 3, select: 3, '.': 4 }, ground: [] },
  sync: {
    floors: {
      plan: 1,
      world: 2,
      references: 3,
      kinds: 4,
      patch: 5,
      loop: 6,
      report: 7,
      '.': 8,
    },
    ground: [],
  },
  'sync/kinds': { floors: { payload: 1, endpoints: 2, endpointslices: 2, content: 2, '.': 3 }, ground: [] },
  'sync/patch': { floors: { set: 1, entry: 2, result: 2, back: 3, run: 4, lint: 5, '.': 6 }, ground: [] },
};

/** Each of these rooms knows one kind. All other files of sync ask the SyncedKind that they are given, without exception. */
const roomsOfKinds = ['src/sync/kinds/endpoints/', 'src/sync/kinds/endpointslices/'];

/** Fields, names, labels, settings and imports of a kind: each has one of these words. */
const wordsOfKinds = /subset|endpoint/i;

/** Files directly under src/ that everyone may import. */
export const leaves = new Set(['src/clock.ts', 'src/log.ts', 'src/metrics.ts', 'src/safe-text.ts']);

/** Files directly under src/ that no file may import: the front doors. */
export const frontDoor = new Set(['src/main.ts', 'src/expression/sandbox/sandbox-main.ts']);

const importPattern = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g;

/** The model of the rig is a second opinion: what it shared with the daemon could not be found wrong. */
export function modelViolations(files: ReadonlyMap<string, string>): string[] {
  return strangersIn(files, { room: 'test/rig/model/', packages: ['fast-check'], who: 'the model' });
}

/** So is the model of the rights; it shares the shape of its cases with the tests, and that has no words of the product either. */
export function rightsModelViolations(files: ReadonlyMap<string, string>): string[] {
  const cases = 'test/management/matrix-case.ts';
  const asked = { packages: [], who: 'the model of the rights' };
  const inModel = strangersIn(files, { ...asked, room: 'test/management/model/', beside: cases });
  return [...inModel, ...strangersIn(files, { ...asked, room: cases })];
}

/** The black box measures any syncer: what it shared with ours would favour ours. */
export function blackBoxViolations(files: ReadonlyMap<string, string>): string[] {
  const packages = ['undici', '@kubernetes/client-node'];
  return strangersIn(files, { room: 'bench/blackbox/', packages, who: 'the black box' });
}

function strangersIn(
  files: ReadonlyMap<string, string>,
  { room, packages, who, beside }: { room: string; packages: readonly string[]; who: string; beside?: string },
): string[] {
  return [...files].flatMap(([file, text]) => {
    if (!file.startsWith(room)) return [];
    const strangers = importsOf(file, text).filter((target) => !target.startsWith(room) && target !== beside);
    const named = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^.'"][^'"]*)['"]/g)].map(
      (match) => match[1] ?? '',
    );
    const others = named.filter((one) => !one.startsWith('node:') && !packages.includes(one));
    const allowed = [`from ${room}`, ...(beside === undefined ? [] : [beside]), 'Node', ...packages].join(', ');
    return [...strangers, ...others].map((target) => `${file} imports ${target}: ${who} imports only ${allowed}`);
  });
}

export function violations(files: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  const edges = new Map<string, string[]>();
  for (const [file, text] of files) {
    edges.set(file, importsOf(file, text));
    found.push(...fileViolations(file, text, edges.get(file) ?? []));
  }
  return [...found, ...cycles(edges)];
}

export function importsOf(file: string, text: string): string[] {
  const targets: string[] = [];
  for (const match of text.matchAll(importPattern)) targets.push(posix.join(posix.dirname(file), match[1] as string));
  return targets;
}

function fileViolations(file: string, text: string, imports: string[]): string[] {
  const found: string[] = [];
  const room = roomOf(file);
  if (room !== undefined && !(room in floors))
    found.push(`${file}: there is no room "${room}"; the rooms are ${Object.keys(floors).join(', ')}`);
  for (const target of imports) {
    if (frontDoor.has(target) && !frontDoor.has(file))
      found.push(`${file} imports ${target}: nobody imports the front door`);
    found.push(...smallRoomViolations(file, target));
    const other = roomOf(target);
    if (room === undefined) {
      if (leaves.has(file) && !leaves.has(target))
        found.push(`${file} imports ${target}: a leaf imports nothing of the house`);
      continue;
    }
    if (other === undefined || other === room) continue;
    if ((floors[other] ?? 99) >= (floors[room] ?? -1)) {
      found.push(`${file} imports ${target}: a room imports only from lower floors and from itself`);
    }
  }
  if (!file.endsWith('.mjs') && !text.startsWith('//') && !text.startsWith('/*') && !text.startsWith('#!')) {
    found.push(`${file}: a file opens with a sentence that says what happens here`);
  }
  if (file !== 'src/main.ts' && file !== 'src/expression/sandbox/sandbox-main.ts' && file.endsWith('.ts')) {
    for (const { line, code } of codeLines(text)) {
      if (/\bprocess\.(?!versions\b)/.test(code)) found.push(`${file}:${line}: process.* appears in main.ts only`);
      // What runs in a browser is handed no clock.
      if (leaves.has(file) || file.includes('/browser/')) continue;
      if (/\bDate\.now\(|\bperformance\.now\(|\bset(Timeout|Interval)\(|new Date\(\)/.test(code)) {
        found.push(`${file}:${line}: time comes from the Clock that is passed in`);
      }
      if (/\bMath\.random\(/.test(code)) found.push(`${file}:${line}: randomness is passed in`);
    }
  }
  found.push(...kindViolations(file, text));
  if (/^export default\b/m.test(text)) found.push(`${file}: no default exports`);
  if (/\/(utils?|helpers?|common|lib|shared|index)(\.ts|\/)/.test(file))
    found.push(`${file}: no utils, helpers, common, lib, shared or index`);
  return found;
}

function kindViolations(file: string, text: string): string[] {
  if (!file.startsWith('src/sync/') || roomsOfKinds.some((room) => file.startsWith(room))) return [];
  return linesOf(withoutComments(text))
    .filter(({ code }) => wordsOfKinds.test(code))
    .map(({ line, code }) => `${file}:${line}: sync asks the SyncedKind and names no kind: ${code.trim()}`);
}

/** Lines without comments and without the insides of strings and template texts; good enough for a law, not a parser. */
function codeLines(text: string): { line: number; code: string }[] {
  const blanked = text
    .replace(/\/\*[\s\S]*?\*\//g, blank)
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, blank)
    .replace(/\/\/[^\n]*/g, '');
  return linesOf(blanked);
}

/** Strings are kept, so that one with "//" in it, as every URL, does not hide the rest of its line. */
function withoutComments(text: string): string {
  const stringOrComment = /('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
  return text.replace(stringOrComment, (all, literal?: string) => literal ?? blank(all));
}

function linesOf(text: string): { line: number; code: string }[] {
  return text.split('\n').map((code, index) => ({ line: index + 1, code }));
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}

function roomOf(file: string): string | undefined {
  const parts = file.split('/');
  return parts[0] === 'src' && parts.length > 2 ? parts[1] : undefined;
}

function smallRoomViolations(file: string, target: string): string[] {
  return Object.entries(smallRooms).flatMap(([big, { floors: inside, ground }]) => {
    const [from, to] = [smallRoomOf(file, big), smallRoomOf(target, big)];
    if (from === undefined || to === undefined) return [];
    const known = Object.keys(inside).join(', ');
    const unknown = [from, to].find((one) => !(one.room in inside));
    if (unknown !== undefined)
      return [`${file}: there is no small room "${unknown.room}" in ${big}; there are ${known}`];
    if (to.room === '.' && ground.includes(to.rest)) return [];
    const [below, above] = [
      inside[to.room] as number,
      from.room === '.' && ground.includes(from.rest) ? 0 : (inside[from.room] as number),
    ];
    if (from.room === to.room || below < above) return [];
    return [`${file} imports ${target}: inside ${big} a small room imports only from lower floors and from itself`];
  });
}

/** The small room of a file in a big room, and the file's path inside the small room. */
function smallRoomOf(file: string, big: string): { room: string; rest: string } | undefined {
  const prefix = `src/${big}/`;
  if (!file.startsWith(prefix)) return undefined;
  const inside = file.slice(prefix.length);
  const slash = inside.indexOf('/');
  return slash < 0 ? { room: '.', rest: inside } : { room: inside.slice(0, slash), rest: inside.slice(slash + 1) };
}

function cycles(edges: Map<string, string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: string[]): void => {
    const at = trail.indexOf(file);
    if (at >= 0) {
      found.push(`import cycle: ${[...trail.slice(at), file].join(' -> ')}`);
      return;
    }
    if (done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of edges.keys()) visit(file, []);
  return found;
}

/** The user's design card names the folders; the others are the files that every repository has. */
const topLevel = [
  'src',
  'config',
  'fixtures',
  'bench',
  'test',
  'docs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];
const ofEveryRepository = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'LICENSE',
  'Dockerfile',
];

/** What is at the top and belongs nowhere; names that begin with a dot are settings of tools. */
export function strangersAtTop(files: readonly string[]): string[] {
  const known = [...topLevel, ...ofEveryRepository];
  const top = new Set(files.map((file) => file.split('/')[0] ?? ''));
  return [...top].filter((name) => name !== '' && !name.startsWith('.') && !known.includes(name));
}
