// The way back: reverse expressions on the candidate virtual object, which is the tenant's own overlaid with what the host
// changed. Only results on host-changed keys count; a removed key goes back as a removal and runs no patch.

import type { ValueGroup } from '../../../expression/evaluate/request.ts';
import type { Matches } from '../../../expression/path/path.ts';
import { writeResults } from '../../../expression/path/write-results.ts';
import { keyOf } from '../../../object/meta/object.ts';
import { labelValueProblems } from '../../../object/meta/qualified-name.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { Draft, Translation } from '../../plan/draft.ts';
import { shownKey, shownPlace } from '../../plan/excerpt.ts';
import { entriesOf } from '../../plan/keys.ts';
import type { HostItem, VirtualItem } from '../../plan/kind.ts';
import type { BackValues, PatchFailure } from '../../plan/step.ts';
import type { PatcherOptions } from '../entry/pass.ts';
import { mapOfCell, referencesBack } from '../entry/reference-patch.ts';
import { matchesIn, runsOf, traceFailure, traceResults, withPlaces } from '../entry/runs.ts';
import { isOfWholeMap, type MapName, mapsOnPath } from '../set/changed-parts.ts';
import { failureOf } from '../set/failure.ts';
import type { CompiledPatch, CompiledReference } from '../set/patch-set.ts';
import { hostObjectOf, type PatchView, viewOf, virtualObjectOf } from '../set/view.ts';

export interface BackInput {
  virtual: VirtualItem;
  host: HostItem;
  translation: Translation;
  /** Raw host values by virtual spelling. */
  raw: BackValues;
}

export type Reversed =
  /** ownerOf: whose keys are where the tenant would take the host's values; undefined where that is as before. */
  | { kind: 'reversed'; values: BackValues; ownerOf?: Draft['ownerOf'] | undefined }
  | { kind: 'failed'; failure: PatchFailure };

interface BackPass extends BackInput {
  view: PatchView;
  /** Keys, spelled as in the view, whose raw value must not go back because their reverse expression failed. */
  withheld: Record<MapName, Set<string>>;
}

export async function reverse(input: BackInput, options: PatcherOptions): Promise<Reversed> {
  const { virtual, translation } = input;
  const view = candidateOf(input);
  const pass: BackPass = { ...input, view, withheld: { labels: new Set(), annotations: new Set() } };
  const going = options.set.patches.filter((patch) => patch.back ?? patch.reference);
  for (const run of runsOf(going, options)) {
    const failure = await runBack(run, pass, options);
    if (failure !== undefined) return { kind: 'failed', failure };
  }
  const values: BackValues = { labels: new Map(), annotations: new Map() };
  for (const map of ['labels', 'annotations'] as const) {
    const made = madeOf(view, map);
    for (const [key, raw] of input.raw[map]) {
      const spelled = translation[map].toHost(key) ?? key;
      const found = made !== undefined && Object.hasOwn(made, spelled) ? made[spelled] : undefined;
      if (raw === null) values[map].set(key, null);
      else if (pass.withheld[map].has(spelled)) values[map].set(key, entriesOf(virtual[map]).get(key) ?? null);
      else if (made === undefined) return { kind: 'failed', failure: wrongResult(map, spelled, { going }) };
      else if (found === undefined || found === null) values[map].set(key, null);
      else if (typeof found !== 'string') return { kind: 'failed', failure: wrongResult(map, spelled, { going }) };
      else {
        const [problem] = map === 'labels' ? labelValueProblems(found) : [];
        if (problem !== undefined) return { kind: 'failed', failure: wrongResult(map, spelled, { going, problem }) };
        values[map].set(key, found);
      }
    }
  }
  return { kind: 'reversed', values };
}

/** What a map has become, which without it holds no key; undefined when something else stands in its place. */
function madeOf({ metadata }: { metadata?: unknown }, map: MapName): Record<string, unknown> | undefined {
  const made = isRecord(metadata) ? metadata[map] : metadata;
  if (made === undefined || made === null) return {};
  return isRecord(made) ? made : undefined;
}

/** Keys that the host spells otherwise are matched by their host spelling here too: one path, one key, both ways. */
function candidateOf({ virtual, translation, raw }: BackInput): PatchView {
  const side = (map: MapName): Map<string, string> => {
    const candidate = new Map<string, string>();
    for (const [key, value] of entriesOf(virtual[map])) candidate.set(translation[map].toHost(key) ?? key, value);
    for (const [key, value] of raw[map]) {
      const spelled = translation[map].toHost(key) ?? key;
      if (value === null) candidate.delete(spelled);
      else candidate.set(spelled, value);
    }
    return candidate;
  };
  const payload = translation.kind.payloadOf(virtual as unknown as HostItem);
  return viewOf({ labels: side('labels'), annotations: side('annotations') }, payload);
}

async function runBack(
  run: readonly CompiledPatch[],
  pass: BackPass,
  options: PatcherOptions,
): Promise<PatchFailure | undefined> {
  const asked = run.flatMap((patch) => {
    const matches = matchesIn({ view: pass.view, trace: options.trace }, patch, 'back');
    return matches.values.length > 0 || matches.whole ? [{ patch, matches }] : [];
  });
  for (const { patch, matches } of asked) {
    const failure = patch.reference && referBack(patch, { matches, reference: patch.reference, pass, options });
    if (failure !== undefined) return failure;
  }
  return evaluateBack(
    asked.filter(({ patch }) => patch.back !== undefined),
    pass,
    options,
  );
}

async function evaluateBack(
  asked: readonly { patch: CompiledPatch; matches: Matches }[],
  pass: BackPass,
  options: PatcherOptions,
): Promise<PatchFailure | undefined> {
  if (asked.length === 0) return undefined;
  const groups = asked.map(
    ({ patch, matches }): ValueGroup => ({
      expression: patch.back as NonNullable<typeof patch.back>,
      values: matches.whole ? [pass.view] : matches.values,
      paths: matches.paths,
    }),
  );
  const { kind } = pass.translation;
  const results = await options.evaluator.evaluate({
    subject: keyOf(pass.virtual.namespace, pass.virtual.name),
    hostObject: hostObjectOf(pass.host, kind),
    virtualObject: virtualObjectOf(pass.virtual, kind),
    groups,
  });
  for (const [at, { patch, matches }] of asked.entries()) {
    const result = results[at];
    if (result === undefined) continue;
    options.counts.evaluated(patch.index, matches.values.length);
    if (result.errors.length === 0) {
      traceResults(patch, { matches, values: result.results }, options.trace);
      options.counts.changed(patch.index, changesOf(writeResults(matches, result.results)));
      continue;
    }
    options.counts.failed(patch.index, result.errors[0]?.error.kind ?? 'threw');
    const failed = withPlaces({ patch, matches, errors: result.errors }, pass.view);
    traceFailure(failed, options.trace);
    if (patch.entry.onError === 'fail') return failureOf(failed, options.sourceOf(patch.index, 'reverseExpression'));
    withhold(patch, matches.keys, pass);
  }
  return undefined;
}

function referBack(
  patch: CompiledPatch,
  work: { matches: Matches; reference: CompiledReference; pass: BackPass; options: PatcherOptions },
): PatchFailure | undefined {
  const { matches, reference, pass, options } = work;
  const { translation, host, virtual, raw } = pass;
  const written = referencesBack(reference, matches, {
    virtual,
    host,
    placement: translation.placement,
    resolver: options.references,
    hostText: (cell) => {
      const map = mapOfCell(cell, pass.view.metadata);
      if (map === undefined) return undefined;
      const spelled = String(cell.key);
      const isChanged = raw[map].has(translation[map].toVirtual(spelled) ?? spelled);
      return { text: isChanged ? cell.text : (entriesOf(host[map]).get(spelled) ?? cell.text), isChanged };
    },
  });
  if (written.kind === 'ok') {
    options.counts.changed(patch.index, written.changes);
    return undefined;
  }
  options.counts.failed(patch.index, 'type');
  if (patch.entry.onError === 'fail') {
    const { at, message } = written;
    const errors = [{ at, error: { kind: 'type' as const, message } }];
    return failureOf(withPlaces({ patch, matches, errors }, pass.view), options.sourceOf(patch.index, 'path'));
  }
  withhold(patch, matches.keys, pass);
  return undefined;
}

/** Left out, a reverse expression would let the transformed value through to the tenant: the tenant keeps its own. */
function withhold(patch: CompiledPatch, keys: readonly (string | number)[], pass: BackPass): void {
  const isOfWhole = isOfWholeMap(patch.path);
  // Nothing else than these maps goes back.
  for (const name of mapsOnPath(patch.path)) {
    const held = isOfWhole ? Object.keys(madeOf(pass.view, name) ?? {}) : keys.map(String);
    for (const one of held) pass.withheld[name].add(one);
  }
}

function changesOf(written: ReturnType<typeof writeResults>): number {
  return written.kind === 'written' ? written.changes : 0;
}

/** The virtual API server would refuse it without a word about patches. */
function wrongResult(
  map: MapName,
  key: string,
  { going, problem }: { going: readonly CompiledPatch[]; problem?: string },
): PatchFailure {
  const place = ['metadata', map, key];
  const [patch, ...others] = going.filter(({ path }) =>
    path.segments.every((segment, at) => at > 2 || segment.kind === 'every' || segment.key === place[at]),
  );
  const shown = `metadata.${map}["${shownKey(key)}"]`;
  const said = problem === undefined ? `a string for ${shown}` : `a good value for ${shown}: ${problem}`;
  const message = `reverse expressions must give ${said}`;
  const failure = { at: shownPlace(place.join('.')), class: 'type', message };
  return patch === undefined || others.length > 0
    ? failure
    : { ...failure, patch: patch.index, path: patch.entry.path };
}
