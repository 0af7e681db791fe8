// Runs the patches of a configuration over one object, forward on its draft and back on what the host changed. In: a patch
// set, an evaluator, drafts. Out: patched drafts, reversed values, or which patch failed and why. All patches of an object
// succeed or its draft is not used. It must never write to a cluster, and never look at the time.
import { useOf } from '../../expression/context-use.ts';
import type { ValueGroup } from '../../expression/evaluator.ts';
import type { Matches } from '../../expression/path.ts';
import { writeResults } from '../../expression/write-results.ts';
import { equalJson } from '../../object/json.ts';
import { keyOf } from '../../object/object.ts';
import type { Draft } from '../draft.ts';
import type { KeyOwner } from '../merge-keys.ts';
import type { PatchFailure } from '../step.ts';
import { isNewVirtualObject } from '../update-patch.ts';
import { culpritOf } from './culprit.ts';
import { type Part, partsOf } from './dirty.ts';
import { type Place, shownPlace } from './excerpt.ts';
import { type Failed, failureOf } from './failure.ts';
import { Kept } from './keep-last.ts';
import { translateLabels } from './labels-patch.ts';
import type { ForwardInput, Pass, PatcherOptions } from './pass.ts';
import type { CompiledPatch, CompiledReference, PatchSet } from './patch-set.ts';
import { type FoundReference, referencesForward } from './reference-patch.ts';
import { type BackInput, type Reversed, reverse } from './reverse.ts';
import { needsPaths, runsOf, traceFailure, traceResults, withPlaces } from './runs.ts';
import { problemOfKeyCount, problemOfResult, type ResultProblem } from './validate-result.ts';
import { changedKeys, hostObjectOf, type PatchView, readView, viewOf, virtualObjectOf } from './view.ts';
import { readWhole, wholeOf } from './whole-object.ts';

export type Patched =
  /** lapse: a patch failed and its policy lets that pass. */
  ({ kind: 'patched'; draft: Draft; lapse?: PatchFailure | undefined } | { kind: 'failed'; failure: PatchFailure }) & {
    /** Objects that the host object will name; of a failed pass, those found before it failed. */
    references: readonly FoundReference[];
  };

export class Patcher {
  readonly set: PatchSet;
  /** Of all that results hang on beside the objects. */
  readonly digest: string;
  readonly #options: PatcherOptions;
  /** Patches that change something forward, by the call of the sandbox that they share. */
  readonly #runs: readonly (readonly CompiledPatch[])[];
  readonly #partsOf: ReadonlyMap<CompiledPatch, readonly Part[]>;
  readonly #seesHost: boolean;
  readonly #seesVirtual: boolean;

  constructor(options: PatcherOptions) {
    const { patches } = options.set;
    this.set = options.set;
    this.digest = options.digest ?? options.set.digest;
    this.#options = options;
    this.#runs = runsOf(
      patches.filter((patch) => patch.forward ?? patch.reference ?? patch.isLabels),
      options,
    );
    this.#partsOf = new Map(patches.map((patch) => [patch, partsOf(patch)]));
    this.#seesHost = patches.some((patch) => sees(patch, 'hostObject'));
    this.#seesVirtual = patches.some((patch) => sees(patch, 'virtualObject'));
  }

  async forward(input: ForwardInput): Promise<Patched> {
    let givenUp: ReadonlyMap<CompiledPatch, string> = noneGivenUp;
    for (;;) {
      const tried = await this.#try(input, givenUp);
      const culprit = tried.kind === 'wrong' ? tried.culprit : undefined;
      if (tried.kind !== 'wrong' || culprit === undefined || culprit.entry.onError === 'fail' || givenUp.has(culprit)) {
        return tried.kind === 'wrong' ? { ...this.#wrongResult(tried), references: tried.references } : tried;
      }
      // What it made is no valid object, so it has failed, and its policy says what then.
      givenUp = new Map([...givenUp, [culprit, tried.message]]);
    }
  }

  async #try(input: ForwardInput, givenUp: Pass['givenUp']): Promise<Patched | WrongResult> {
    const { draft, translation } = input;
    const view = viewOf(draft, draft.payload);
    // What the first try made is what there is to explain, and then which of it did not stand.
    const trace = givenUp.size === 0 ? this.#options.trace : undefined;
    const fresh = { view, kept: undefined, wholeOwners: undefined, references: [], writes: [], lapse: undefined };
    const pass: Pass = { ...input, ...fresh, dirty: new Set(), givenUp, trace };
    const { references, dirty } = pass;
    for (const run of this.#runs) {
      const failed = await this.#runForward(run, pass);
      if (failed !== undefined) return { kind: 'failed', failure: this.#say(failed, 'expression'), references };
    }
    const wrong = ({ place, message }: ResultProblem): WrongResult => {
      return { kind: 'wrong', culprit: culpritOf(pass.writes, view, place), message, place, references };
    };
    const read = readView(view, { payloadFields: this.#options.payloadFields, dirty, draft });
    if (read.kind === 'wrong') return wrong(read);
    if (read.restored > 0) this.#options.counts.restored(read.restored);
    const kept = pass.kept?.overlay(read, input.host, translation.kind) ?? read;
    const problem = problemOfResult(kept, draft);
    if (problem !== undefined) return wrong(problem);
    const { payload } = kept;
    const stored = payload === draft.payload ? payload : translation.kind.asStored(payload);
    const result = { labels: kept.labels, annotations: kept.annotations, payload: stored };
    return { kind: 'patched', draft: this.#draftOf(pass, result), references, lapse: pass.lapse };
  }

  /** One call of the sandbox for patches whose places do not touch each other. */
  async #runForward(run: readonly CompiledPatch[], pass: Pass): Promise<Failed | undefined> {
    const groups: ValueGroup[] = [];
    const asked: { patch: CompiledPatch; matches: Matches; isWhole: boolean }[] = [];
    for (const patch of run) {
      const matches = matchesOf(patch, pass);
      const isWhole = matches.whole !== undefined;
      const message = pass.givenUp.get(patch);
      if (message !== undefined) {
        const failed = this.#fallBack(faultOf(patch, matches, message), pass);
        if (failed !== undefined) return failed;
      } else if (patch.isLabels) {
        const failed = this.#translateLabels(patch, matches, pass);
        if (failed !== undefined) return failed;
      } else if (patch.reference !== undefined) {
        const failed = this.#translateReferences(patch, { matches, reference: patch.reference }, pass);
        if (failed !== undefined) return failed;
      } else if (patch.forward !== undefined && (isWhole || matches.values.length > 0)) {
        const values = isWhole ? [wholeOf(pass.view, pass)] : matches.values;
        groups.push({ expression: patch.forward, values, missing: matches.missing, paths: matches.paths });
        asked.push({ patch, matches, isWhole });
      }
    }
    if (groups.length === 0) return undefined;
    const answer = this.#options.evaluator.evaluate({
      subject: keyOf(pass.virtual.namespace, pass.virtual.name),
      hostObject: this.#seesHost ? hostObjectOf(pass.host, pass.translation.kind) : null,
      virtualObject: this.#seesVirtual ? virtualObjectOf(pass.virtual, pass.translation.kind) : null,
      groups,
    });
    const results = Array.isArray(answer) ? answer : await answer;
    for (let at = 0; at < asked.length; at++) {
      const { patch, matches, isWhole } = asked[at] as (typeof asked)[0];
      const { results: values, errors } = results[at] as { results: unknown[]; errors: Failed['errors'] };
      const failed = this.#settle(patch, { matches, isWhole, values, errors }, pass);
      if (failed !== undefined) return failed;
    }
    return undefined;
  }

  /** Writes what one patch came to, or applies its failure policy. */
  #settle(
    patch: CompiledPatch,
    answer: { matches: Matches; isWhole: boolean; values: unknown[]; errors: Failed['errors'] },
    pass: Pass,
  ): Failed | undefined {
    const { matches, isWhole, values } = answer;
    this.#options.counts.evaluated(patch.index, matches.values.length);
    if (answer.errors.length > 0) return this.#fallBack({ patch, matches, errors: answer.errors }, pass);
    const isOfMap = patch.path.segments.length < 3;
    const tooMany = isOfMap ? problemOfKeyCount(values) : undefined;
    if (tooMany !== undefined) return this.#fallBack(faultOf(patch, matches, tooMany), pass);
    const before = isOfMap ? mapsOf(pass.view) : undefined;
    const asked = isWhole && pass.trace !== undefined ? { ...matches, values: [wholeOf(pass.view, pass)] } : matches;
    traceResults(patch, { matches: asked, values }, pass.trace);
    const written = isWhole ? readWhole(pass.view, values[0], pass) : writeResults(matches, values);
    if (written.kind === 'fault') return this.#fallBack(faultOf(patch, matches, written.message), pass);
    pass.writes.push({ patch, matches, values, before });
    if ('restored' in written) this.#options.counts.restored(Number(written.restored));
    this.#changed(patch, written.changes, pass);
    if (before !== undefined) noteWholeOwners(patch, before, pass);
    return undefined;
  }

  #fallBack(plain: Failed, pass: Pass): Failed | undefined {
    const failed = withPlaces(plain, pass.view);
    const { patch } = failed;
    this.#options.counts.failed(patch.index, failed.errors[0]?.error.kind ?? 'threw');
    traceFailure(failed, this.#options.trace);
    const { onError } = patch.entry;
    const mayKeep = pass.host !== undefined && !isNewVirtualObject(pass.host, pass.virtual);
    if (onError === 'fail' || (onError === 'keepLast' && !mayKeep)) return failed;
    if (onError === 'keepLast') {
      pass.kept ??= new Kept();
      pass.kept.add(patch, failed.matches);
    }
    if (pass.lapse === undefined) {
      const failure = this.#say(failed, 'expression');
      const instead = onError === 'skip' ? 'the value is left as it is' : 'the host keeps its value';
      pass.lapse = { ...failure, message: `${failure.message}; ${instead}` };
    }
    return undefined;
  }

  #translateLabels(patch: CompiledPatch, matches: Matches, pass: Pass): Failed | undefined {
    const options = {
      rules: pass.translation.labels,
      virtualCluster: pass.translation.placement.virtualCluster,
      virtualNamespace: pass.virtual.namespace,
    };
    const values: unknown[] = [];
    for (const [at, value] of matches.values.entries()) {
      const translated = translateLabels(value, options);
      if (translated.kind === 'wrong') {
        return this.#fallBack(faultOf(patch, matches, translated.message, at), pass);
      }
      values.push(translated.value);
    }
    traceResults(patch, { matches, values }, pass.trace);
    this.#options.counts.evaluated(patch.index, matches.values.length);
    this.#changed(patch, changesOf(matches, values), pass);
    writeResults(matches, values);
    pass.writes.push({ patch, matches, values, before: undefined });
    return undefined;
  }

  #translateReferences(
    patch: CompiledPatch,
    { matches, reference }: { matches: Matches; reference: CompiledReference },
    pass: Pass,
  ): Failed | undefined {
    const before = pass.trace && structuredClone(matches.values);
    const { kind, placement } = pass.translation;
    const written = referencesForward(reference, matches, {
      namespace: pass.virtual.namespace,
      placement,
      resolver: this.#options.references,
      ...(this.#partsOf.get(patch)?.includes('payload') && { renamed: kind.renamedBy(pass.virtual, placement) }),
    });
    if (written.kind === 'wrong') {
      const { at, message } = written;
      return this.#fallBack(faultOf(patch, matches, message, at), pass);
    }
    this.#options.counts.evaluated(patch.index, matches.values.length);
    this.#changed(patch, written.changes, pass);
    pass.references.push(...written.found);
    pass.writes.push({ patch, matches, values: undefined, before: undefined });
    if (before !== undefined) {
      const after = matches.values.map((value, at) =>
        typeof value === 'string'
          ? (matches.parents[at] as Record<string, unknown>)[matches.keys[at] as string]
          : value,
      );
      traceResults(patch, { matches: { ...matches, values: before }, values: after }, pass.trace);
    }
    return undefined;
  }

  #changed(patch: CompiledPatch, changes: number, { dirty }: Pass): void {
    this.#options.counts.changed(patch.index, changes);
    if (changes > 0) for (const part of this.#partsOf.get(patch) ?? []) dirty.add(part);
  }

  #draftOf(pass: Pass, result: Pick<Draft, Part>): Draft {
    const { draft, translation, wholeOwners } = pass;
    const { set } = this;
    const ownerOf = (map: 'labels' | 'annotations', virtualKey: string): KeyOwner => {
      const hostKey = translation[map].toHost(virtualKey) ?? virtualKey;
      return set.ownerOf(map, hostKey) ?? wholeOwners?.[map].get(hostKey) ?? 'shared';
    };
    const touched = (map: 'labels' | 'annotations'): Set<string> => {
      const keys = new Set<string>();
      const add = (hostKey: string): void => {
        const key = translation[map].toVirtual(hostKey);
        if (key !== undefined) keys.add(key);
      };
      if (result[map] !== draft[map]) for (const key of changedKeys(draft[map], result[map])) add(key);
      const host = pass.host?.[map] ?? noKeys;
      for (const key of set.ownedKeys(map) ?? [...draft[map].keys(), ...Object.keys(host)]) {
        if (draft[map].has(key) || Object.hasOwn(host, key)) add(key);
      }
      return keys;
    };
    return {
      ...draft,
      ...result,
      patchedLabels: touched('labels'),
      patchedAnnotations: touched('annotations'),
      ownerOf,
    };
  }

  #say(failed: Failed, field: 'expression' | 'reverseExpression'): PatchFailure {
    return failureOf(failed, this.#options.sourceOf(failed.patch.index, field));
  }

  #wrongResult({ culprit, message, place }: WrongResult): { kind: 'failed'; failure: PatchFailure } {
    const failure = { at: shownPlace(place.join('.')), class: 'type' };
    if (culprit === undefined) {
      this.#options.counts.failedTogether('type');
      const said = `after all patches the object is no valid Endpoints: ${message}`;
      return { kind: 'failed', failure: { ...failure, message: said } };
    }
    const { index, entry } = culprit;
    this.#options.counts.failed(index, 'type');
    const said = `patch ${index} makes the object no valid Endpoints: ${message}`;
    const source = this.#options.sourceOf(index, culprit.forward === undefined ? 'path' : 'expression');
    const named = { patch: index, path: entry.path, message: said, ...(source !== undefined && { source }) };
    return { kind: 'failed', failure: { ...failure, ...named } };
  }

  /** Values that the host changed, as the virtual side should hold them. */
  back(input: BackInput): Promise<Reversed> {
    return reverse(input, this.#options);
  }
}

const noKeys = Object.freeze({});
const noneGivenUp: ReadonlyMap<CompiledPatch, string> = new Map();

function sees({ forward }: CompiledPatch, object: 'hostObject' | 'virtualObject'): boolean {
  return forward !== undefined && useOf(forward.context, object) !== undefined;
}

interface WrongResult {
  kind: 'wrong';
  culprit: CompiledPatch | undefined;
  place: Place;
  message: string;
  references: readonly FoundReference[];
}

function faultOf(patch: CompiledPatch, matches: Matches, message: string, at = 0): Failed {
  return { patch, matches, errors: [{ at, error: { kind: 'type', message } }] };
}

/** A translation is a new value each time, also where it says the same as before. */
function changesOf({ values: before }: Matches, after: readonly unknown[]): number {
  return before.filter((value, at) => !equalJson(value, after[at])).length;
}

function matchesOf(patch: CompiledPatch, { view, trace }: Pass): Matches {
  const withPaths = needsPaths(patch.forward, trace);
  return patch.path.match(view, { createMissing: patch.entry.onMissing === 'create', withPaths });
}

interface Maps {
  labels: Map<string, string>;
  annotations: Map<string, string>;
}

function mapsOf({ metadata }: PatchView): Maps {
  const textsOf = (map: unknown): Map<string, string> => new Map(Object.entries((map ?? {}) as Record<string, string>));
  return { labels: textsOf(metadata?.labels), annotations: textsOf(metadata?.annotations) };
}

function noteWholeOwners(patch: CompiledPatch, before: Maps, pass: Pass): void {
  const after = mapsOf(pass.view);
  const owner: KeyOwner = patch.back === undefined ? 'virtual' : 'shared';
  pass.wholeOwners ??= { labels: new Map(), annotations: new Map() };
  for (const map of ['labels', 'annotations'] as const) {
    for (const key of changedKeys(before[map], after[map])) pass.wholeOwners[map].set(key, owner);
  }
}
