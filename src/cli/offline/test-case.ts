// Runs one case of `hostward test`: loads the configuration, renders the objects forward and back, and compares. In: a folder.
// Out: the differences. A case that cannot run counts as failed, and the other cases go on.

import { join, resolve } from 'node:path';
import { formatFault } from '../../config/fault.ts';
import { loadConfiguration } from '../../config/load/load.ts';
import { withPatches } from '../../daemon/options/load-patches.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { inKeyOrder } from '../../object/text/json.ts';
import { unifiedDiff } from '../../object/text/line-diff.ts';
import type { OpenedPatcher } from '../../sync/patch/run/open-patcher.ts';
import { withoutBookkeeping } from '../../sync/report/render.ts';
import { CommandFault, type Context } from '../line/context.ts';
import { exampleNames, type GoodConfiguration, loadWithNames } from '../line/load-settings.ts';
import { systemFault } from '../line/system-fault.ts';
import { shapeFaults } from './check-shape.ts';
import { withServerDefaults } from './offline-kinds.ts';
import { type OfflineMeans, openOfflinePatches, startSandbox } from './offline-patches.ts';
import { type OfflineRender, renderOffline } from './offline-render.ts';
import { withoutServerFields } from './print-objects.ts';
import { readObjects } from './read-objects.ts';
import { toYaml } from './yaml-text.ts';

export interface CaseResult {
  name: string;
  tookMs: number;
  /** Empty when the case passed. */
  problems: { what: string; text: string }[];
  /** Files that --update wrote. */
  updated: string[];
}

/** The files of cases, and what running expressions takes. */
export type CaseMeans = Pick<Context, 'cwd' | 'readStdin'> & {
  files: Pick<Context['files'], 'read' | 'readConfiguration' | 'list' | 'write'>;
} & OfflineMeans;

interface Run {
  context: CaseMeans;
  folder: string;
  isUpdate: boolean;
  /** Names of the files in the folder and in its folder back/. */
  names: ReadonlySet<string>;
  result: CaseResult;
}

export async function runCase(context: CaseMeans, folder: string, how: { isUpdate: boolean }): Promise<CaseResult> {
  const result: CaseResult = { name: folder, tookMs: 0, problems: [], updated: [] };
  const startMs = context.clock.now();
  try {
    const names = await namesIn(context, folder);
    await compareCase({ context, folder, isUpdate: how.isUpdate, names, result });
  } catch (thrown) {
    const fault = thrown instanceof CommandFault ? thrown : systemFault(thrown);
    if (fault === undefined) throw thrown;
    result.problems.push({ what: 'the case cannot be run', text: fault.message });
  }
  result.tookMs = context.clock.now() - startMs;
  return result;
}

async function namesIn(context: CaseMeans, folder: string): Promise<Set<string>> {
  const names = await context.files.list(resolve(context.cwd, folder));
  const back = names.includes('back/') ? await context.files.list(resolve(context.cwd, folder, 'back')) : [];
  return new Set([...names, ...back.map((name) => `back/${name}`)]);
}

async function compareCase(run: Run): Promise<void> {
  const configuration = await configurationOf(run);
  if (configuration === undefined) return;
  const objects = await objectsIn(run, 'virtual.yaml');
  const opened = openOfflinePatches(run.context, configuration);
  try {
    if (opened !== undefined) await startSandbox(() => opened.start());
    const render = renderer(run, { configuration, objects, opened });
    const hostObjects = run.names.has('host-before.yaml') ? await objectsIn(run, 'host-before.yaml') : [];
    const forward = await render('forward', hostObjects);
    await compareObjects(run, 'host.yaml', forward);
    await compareMessages(run, 'says.txt', forward);
    if (!run.names.has('back/host.yaml')) return;
    const back = await render('back', await objectsIn(run, 'back/host.yaml'));
    await compareObjects(run, 'back/virtual.yaml', back);
    await compareMessages(run, 'back/says.txt', back);
  } finally {
    await opened?.stop();
  }
}

function renderer(
  { context }: Run,
  what: { configuration: GoodConfiguration; objects: KubeObject[]; opened: OpenedPatcher | undefined },
): (direction: 'forward' | 'back', hostObjects: readonly KubeObject[]) => Promise<OfflineRender> {
  return (direction, hostObjects) =>
    renderOffline(context, { ...what, hostObjects, direction, withBookkeeping: false, isExplained: false });
}

async function configurationOf({ context, folder, result }: Run): Promise<GoodConfiguration | undefined> {
  const file = await context.files.readConfiguration(resolve(context.cwd, folder, 'config.yaml'));
  // Names the file config.yaml without its folder, so that messages do not depend on the place of the folder.
  const files = [{ ...file, name: 'config.yaml' }];
  const { loaded } = await loadWithNames(
    async (flags) => withPatches(loadConfiguration({ files, flags, environment: {} })),
    exampleNames,
  );
  if (loaded.kind === 'ok') return loaded;
  for (const fault of loaded.faults)
    result.problems.push({ what: 'config.yaml', text: formatFault(fault, loaded.texts) });
  return undefined;
}

async function objectsIn({ context, folder }: Run, name: string): Promise<KubeObject[]> {
  const read = await readObjects(context, [join(folder, name)]);
  for (const { object } of read) {
    const [fault] = shapeFaults(object);
    if (fault !== undefined)
      throw new CommandFault(1, `${name}: ${object.kind} "${object.metadata.name}": ${fault.text}`);
  }
  return read.map(({ object }) => object);
}

async function compareObjects(run: Run, name: string, { objects }: OfflineRender): Promise<void> {
  const results = objects.map(({ after }) => after.object);
  const found = textOf(results.map(withServerDefaults));
  const expected = run.names.has(name) ? textOf((await objectsIn(run, name)).map(withServerDefaults)) : '';
  if (found === expected) return;
  if (run.isUpdate) return update(run, name, textOf(results));
  const what = run.names.has(name) ? `${name} differs` : `${name} is missing; --update writes it`;
  const diff = unifiedDiff({ name: `${name}, expected`, text: expected }, { name: 'found', text: found });
  run.result.problems.push({ what, text: `${what}\n${diff}` });
}

/** Compares the messages about objects that are not written. A failure, or an ignored edit on the host, needs a says.txt. */
async function compareMessages(run: Run, name: string, { notices }: OfflineRender): Promise<void> {
  const said = notices.map(({ message }) => `${message}\n`).join('');
  const isExpected = run.names.has(name);
  const isFailed = notices.some(({ isFailure }) => isFailure);
  if (!isExpected && !isFailed && (notices.length === 0 || !name.startsWith('back/'))) return;
  const expected = isExpected ? await run.context.files.read(resolve(run.context.cwd, run.folder, name)) : '';
  const missing = expected.split('\n').filter((line) => line.trim() !== '' && !said.includes(line.trim()));
  if (missing.length === 0 && isExpected) return;
  if (run.isUpdate) return update(run, name, said);
  const text = isExpected
    ? `${name}: wanted the message: ${missing.join('\n')}\nfound: ${said || 'no message'}`
    : `${isFailed ? 'a patch failed' : 'nothing is written'}, and there is no ${name} that expects it: ${said}`;
  run.result.problems.push({ what: `${name} differs`, text });
}

/** Keeps the comments at the head of a file, because they document the case. */
async function update(run: Run, name: string, text: string): Promise<void> {
  const path = resolve(run.context.cwd, run.folder, name);
  const before = run.names.has(name) ? await run.context.files.read(path) : '';
  const head = name.endsWith('.yaml') ? (/^(#.*\n)*/.exec(before)?.[0] ?? '') : '';
  await run.context.files.write(path, head + text);
  run.result.updated.push(name);
}

function textOf(objects: readonly KubeObject[]): string {
  const keyOf = ({ metadata }: KubeObject) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
  return objects
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .map((object) => toYaml(inKeyOrder(withoutServerFields(withoutBookkeeping(object)))))
    .join('---\n');
}
