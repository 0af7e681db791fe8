// Answers the playground: what the patches of a text make of the objects of another text, forward and back. In: the texts of a case.
// Out: differences, matches, messages, and every fault at its place. The code is that of check and render: this file contains no
// rule of its own. It must never read a file, and never know who asks.

import type { Fault } from '../../../config/fault.ts';
import { loadConfiguration } from '../../../config/load/load.ts';
import { knownSettings, withPatches } from '../../../daemon/options/load-patches.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { inKeyOrder } from '../../../object/text/json.ts';
import { lineDifference } from '../../../object/text/line-diff.ts';
import {
  type ChangedObject,
  type Mark,
  type PatchReport,
  type PlaygroundCase,
  playgroundLimits,
  type RenderAnswer,
  type TextName,
  type Way,
} from '../../../pages/playground-api.ts';
import { patchSetOf } from '../../../sync/patch/set/patch-set.ts';
import { CommandFault } from '../../line/context.ts';
import { exampleNames, faultsOf, type LoadedAll, loadWithNames } from '../../line/load-settings.ts';
import { tryExpressions } from '../checks/try-expressions.ts';
import { isOfflineKind } from '../offline-kinds.ts';
import type { OfflineMeans } from '../offline-patches.ts';
import { type OfflineRender, renderOffline } from '../offline-render.ts';
import { objectsText, withoutServerFields } from '../print-objects.ts';
import { objectsIn, PlacedFaults, refuseDuplicates } from '../read-objects.ts';
import { wantedObjects } from '../wanted-objects.ts';
import { parseDocuments, toYaml } from '../yaml-text.ts';
import { roundTripsOf, strangerIn } from './case-lints.ts';
import { type ConfigText, configName, configText, kindOfList } from './config-text.ts';
import { failureMarks, failuresIn, ranOut } from './failure-marks.ts';
import { pageWords } from './page-words.ts';
import { placesIn } from './text-places.ts';

/** Filled while the evaluation goes on, so that one that takes too long has an answer as far as it got. */
export type RenderDraft = { -readonly [Member in keyof RenderAnswer]: RenderAnswer[Member] } & { marks: Mark[] };

export function emptyDraft(): RenderDraft {
  return { config: '', marks: [], forward: undefined, back: undefined, roundTrips: [], tookMs: 0 };
}

/** What the members of a case are called in messages. */
const fileNames: Record<TextName, string> = {
  config: configName,
  virtual: 'virtual.yaml',
  hostBefore: 'host-before.yaml',
  hostEdited: 'back/host.yaml',
};

export async function renderCase(means: OfflineMeans, given: PlaygroundCase, draft: RenderDraft): Promise<void> {
  const config = configText(given.config, { kind: kindOfList(given.virtual) });
  draft.config = config.text;
  const loaded = await load(config.text);
  draft.marks.push(...faultsOf(loaded).map((one) => markOf(one, config)));
  draft.marks.push(...warningsOf(loaded, config.text).map((one) => markOf(one, config)));
  const read = (name: TextName, wanted: string) => readObjects(given[name] ?? '', name, { wanted, marks: draft.marks });
  const virtual = read('virtual', 'Endpoints or EndpointSlices to render');
  const before = given.hostBefore ? read('hostBefore', wantedOnHost) : [];
  const edited = given.hostEdited ? read('hostEdited', wantedOnHost) : undefined;
  const stranger = strangerIn(loaded, config.text);
  if (stranger !== undefined) draft.marks.push(stranger);
  let isRunOut = false;
  const failing = new Set<string>();
  if (loaded.kind === 'ok' && virtual !== undefined && before !== undefined) {
    const configuration = loaded;
    const refuse = refusal(draft.marks);
    const asked = { means, configuration, config, draft };
    const forward = await run(asked, { objects: virtual, hostObjects: before, direction: 'forward' }).catch(
      refuse('hostBefore'),
    );
    if (forward !== undefined) {
      const way = wayOf(forward, await plainOf(asked, { virtual, before, forward }), { config, way: 'forward' });
      draft.forward = { ...way, notes: [...way.notes, ...idleNotes(configuration, virtual)] };
      isRunOut = ranOut(forward);
      for (const { list, patch } of failuresIn(forward)) failing.add(`${list}[${patch}]`);
    }
    const onHost = edited?.filter(isOfflineKind);
    const back =
      onHost &&
      (await run(asked, { objects: virtual, hostObjects: onHost, direction: 'back' }).catch(refuse('hostEdited')));
    if (back !== undefined) {
      const was = back.objects.map((one) => one.before.object);
      draft.back = wayOf(back, was, { config, way: 'back' });
      isRunOut ||= ranOut(back);
    }
  }
  // An expression that runs out of its time would do so on the samples once more.
  if (isRunOut) return;
  const settings = knownSettings(loaded);
  if (settings === undefined || !hasExpressions(loaded)) return;
  const bothWays = new Set<string>();
  const wentBoth = (list: string, patch: number) => void bothWays.add(`${list}[${patch}]`);
  const tried = await tryExpressions({ ...means, allowedMs: playgroundLimits.samplesMs, wentBoth }, loaded, settings);
  // Of a patch that fails on the object in sight, the samples say nothing new.
  const failed = draft.marks.filter(({ code }) => code === 'PATCH_FAILED');
  const isNews = ({ code, line, column }: Mark) => {
    if (failed.some((one) => one.line === line && one.column === column)) return false;
    return code !== 'PATCH_ALWAYS_FAILS' || failed.length === 0;
  };
  draft.marks.push(...tried.map((one) => markOf(one, config)).filter(isNews));
  draft.roundTrips = roundTripsOf(loaded, { tried, bothWays, failing });
}

/** Notes about patches that do nothing here, because no object is of their kind, and about objects whose kind has none. */
function idleNotes({ compiled }: RenderQuestion['configuration'], virtual: readonly KubeObject[]): string[] {
  const lists = [
    { kind: 'Endpoints', place: 'sync.toHost.endpoints.patches', set: compiled.set },
    { kind: 'EndpointSlice', place: 'sync.toHost.endpointSlices.patches', set: compiled.slices.set },
  ].map(({ set, ...list }) => ({
    ...list,
    hasPatches: set.patches.length > 0,
    hasObjects: virtual.some((one) => one.kind === list.kind),
  }));
  const isPatched = lists.some(({ hasPatches, hasObjects }) => hasPatches && hasObjects);
  return lists.flatMap(({ kind, place, hasPatches, hasObjects }) => {
    if (hasPatches && !hasObjects)
      return `the patches in ${place} change objects of kind ${kind}, and no object here is of that kind`;
    return isPatched && hasObjects && !hasPatches
      ? `no patch here changes objects of kind ${kind}: a list is for one kind, and a vcluster.yaml has one for each`
      : [];
  });
}

/** For `.catch()`: turns a mistake in the objects of the user into a mark at the top of their text. */
function refusal(marks: Mark[]): (text: TextName) => (thrown: unknown) => undefined {
  return (text) => (thrown) => {
    if (!(thrown instanceof CommandFault)) throw thrown;
    const message = thrown.hint === undefined ? thrown.message : `${thrown.message}; ${thrown.hint}`;
    marks.push({ text, severity: 'fault', code: 'OBJECT', line: 1, column: 1, message });
  };
}

/** More only hide each other. */
const mostMarks = 100;

const wantedOnHost = 'Endpoints or EndpointSlices of the host';

async function load(text: string): Promise<LoadedAll> {
  const files = [{ name: configName, text }];
  const { loaded } = await loadWithNames(
    async (flags) => withPatches(loadConfiguration({ files, flags, environment: {} })),
    exampleNames,
  );
  return loaded;
}

const ofWriters: ReadonlySet<string> = new Set([
  'CONFIG_TWO_WRITERS',
  'CONFIG_UNSOUND_WRITERS',
  'CONFIG_PATCH_ROUTED_AROUND',
]);

/** A text of patches alone does not say who writes, and the warnings about two writers would be above everybody's first patch. */
function warningsOf({ warnings }: LoadedAll, text: string): Fault[] {
  const saysWhoWrites = /\benabled\b/.test(text);
  return warnings.filter(({ code }) => saysWhoWrites || !ofWriters.has(code));
}

function hasExpressions({ compiled }: LoadedAll): boolean {
  return compiled.set.expressions.length + compiled.slices.set.expressions.length > 0;
}

function markOf({ severity, code, line, column = 1, path, sentence, fix }: Fault, config: ConfigText): Mark {
  // The place says which setting it is, where there is a place.
  const setting = path === '' || line !== undefined ? '' : `${path}: `;
  const message = `${setting}${sentence}${fix === '' ? '' : `; ${fix}`}`;
  return {
    text: 'config',
    severity,
    code,
    ...config.placeOf(line ?? 1, column),
    message: pageWords(config.relocated(message)),
  };
}

/** Undefined, and a mark, when the text holds no objects that can be rendered. */
function readObjects(
  text: string,
  name: TextName,
  { wanted, marks }: { wanted: string; marks: Mark[] },
): KubeObject[] | undefined {
  const mark = (line: number, column: number, message: string) =>
    marks.push({ text: name, severity: 'fault', code: 'OBJECT', line, column, message });
  const parsed = parseDocuments(text);
  if (parsed.kind === 'fault') {
    mark(parsed.line, parsed.column, `the objects cannot be read as YAML or JSON: ${parsed.reason}`);
    return undefined;
  }
  try {
    const found = objectsIn(parsed.documents, fileNames[name]);
    refuseDuplicates(found);
    return wantedObjects(found, wanted);
  } catch (thrown) {
    if (!(thrown instanceof CommandFault)) throw thrown;
    if (!(thrown instanceof PlacedFaults)) mark(1, 1, thrown.message.replace(`${fileNames[name]}: `, ''));
    else {
      const placeOf = placesIn(text);
      for (const fault of thrown.faults.slice(0, mostMarks)) {
        const { line, column } = placeOf(fault);
        mark(line, column, fault.message);
      }
    }
    return undefined;
  }
}

interface RenderQuestion {
  means: OfflineMeans;
  configuration: Extract<LoadedAll, { kind: 'ok' }>;
  config: ConfigText;
  draft: RenderDraft;
}

type Objects = Pick<Parameters<typeof renderOffline>[1], 'objects' | 'hostObjects' | 'direction'>;

async function run({ means, configuration, config, draft }: RenderQuestion, objects: Objects): Promise<OfflineRender> {
  const input = { ...objects, configuration, withBookkeeping: false, isExplained: true };
  const rendered = await renderOffline(means, input);
  // A pure expression throws the same error again, and the second run shows where.
  const isPlaced = failuresIn(rendered).some(({ kind }) => kind === 'threw') && !ranOut(rendered);
  const placed = isPlaced ? await renderOffline({ ...means, traces: true }, input) : rendered;
  draft.marks.push(...failureMarks(placed, configuration, config));
  return rendered;
}

/** The same objects without any patch, in the order of the patched ones. */
async function plainOf(
  { means, configuration }: RenderQuestion,
  {
    virtual,
    before,
    forward,
  }: { virtual: readonly KubeObject[]; before: readonly KubeObject[]; forward: OfflineRender },
): Promise<KubeObject[]> {
  const { compiled, settings } = configuration;
  const none = { ...compiled, set: patchSetOf([]), slices: { ...compiled.slices, set: patchSetOf([]) } };
  const plain = await renderOffline(means, {
    configuration: { settings, compiled: none },
    objects: virtual,
    hostObjects: before,
    direction: 'forward',
    withBookkeeping: false,
    isExplained: false,
  });
  return forward.objects.map(({ before: was, after }) => {
    const same = plain.objects.find(
      (one) => one.after.name === after.name && one.after.object.kind === after.object.kind,
    );
    return same?.after.object ?? was.object;
  });
}

function wayOf(
  { objects, notices, explained }: OfflineRender,
  before: readonly KubeObject[],
  { config, way }: { config: ConfigText; way: 'forward' | 'back' },
): Way {
  return {
    objects: objects.map(({ after }, at) => changedObject(before[at] as KubeObject, after)),
    patches: explained.flatMap(({ explanation, set, list }) =>
      explanation
        .patches(set)
        .filter(({ direction }) => direction === way)
        .map((one): PatchReport => {
          const { patch, path, object, tookMs, notTried, whyNone, matches } = one;
          const shown = matches.slice(0, playgroundLimits.shownMatches);
          const more = matches.length - shown.length;
          const entry = {
            ...{ list, patch, path, object, tookMs },
            ...(notTried !== undefined && { notTried }),
            ...(whyNone !== undefined && { whyNone }),
          };
          return { ...entry, matches: shown.map(({ failed: _, ...match }) => match), more };
        }),
    ),
    output: objectsText(
      objects.map(({ after }) => after.object),
      'yaml',
    ),
    messages: notices.map(({ message }) => config.relocated(message)),
    notes: notices.filter(({ failed }) => failed === undefined).map(({ message }) => message),
  };
}

function changedObject(before: KubeObject, { name, object }: { name: string; object: KubeObject }): ChangedObject {
  const textOf = (one: KubeObject) => toYaml(inKeyOrder(withoutServerFields(one)));
  const lines = lineDifference(textOf(before), textOf(object));
  const shown = lines.slice(0, playgroundLimits.shownLines);
  const [side, ...rest] = name.split(' ');
  const shownName = `${object.kind} ${rest.join(' ')} ${side === 'host' ? 'on the host' : 'of the tenant'}`;
  return { name: shownName, lines: shown, more: lines.length - shown.length };
}
