// Runs the patches of a configuration over one object, forward on its draft and back on what the host changed. In: a patch
// set, an evaluator, drafts. Out: patched drafts, reversed values, or which patch failed and why. All patches of an object
// succeed or its draft is not used. It must never write to a cluster, and never look at the time.
import type { ValueGroup } from '../../expression/evaluator.ts';
import type { Matches } from '../../expression/path.ts';
import { writeResults } from '../../expression/write-results.ts';
import { keyOf } from '../../object/object.ts';
import type { Draft } from '../draft.ts';
import type { KeyOwner } from '../merge-keys.ts';
import type { PatchFailure } from '../step.ts';
import { isNewVirtualObject } from '../update-patch.ts';
import { type Failed, failureOf } from './failure.ts';
import { Kept } from './keep-last.ts';
import { translateLabels } from './labels-patch.ts';
import type { ForwardInput, Pass, PatcherOptions } from './pass.ts';
import type { CompiledPatch, CompiledReference, PatchSet } from './patch-set.ts';
import { type FoundReference, referencesForward } from './reference-patch.ts';
import { type BackInput, type Reversed, reverse } from './reverse.ts';
import { runsOf, traceFailure, traceResults } from './runs.ts';
import { problemOfResult } from './validate-result.ts';
import { changedKeys, hostObjectOf, type PatchView, readView, viewOf, virtualObjectOf } from './view.ts';
import { readWhole, wholeOf } from './whole-object.ts';

export type Patched = ({ kind: 'patched'; draft: Draft } | { kind: 'failed'; failure: PatchFailure }) & {
  /** Objects that the host object will name; of a failed pass, those found before it failed. */
  references: readonly FoundReference[];
};

export class Patcher {
  readonly set: PatchSet;
  readonly #options: PatcherOptions;

  constructor(options: PatcherOptions) {
    this.set = options.set;
    this.#options = options;
  }

  async forward(input: ForwardInput): Promise<Patched> {
    const { draft, translation } = input;
    const view = viewOf(draft, draft.payload);
    const wholeOwners = { labels: new Map(), annotations: new Map() };
    const pass: Pass = { ...input, view, kept: new Kept(), wholeOwners, references: [] };
    const { references } = pass;
    const going = this.set.patches.filter((patch) => patch.forward ?? patch.reference ?? patch.isLabels);
    for (const run of runsOf(going, this.#options)) {
      const failed = await this.#runForward(run, pass);
      if (failed !== undefined) return { kind: 'failed', failure: this.#say(failed, 'expression'), references };
    }
    const read = readView(view, this.#options.payloadFields);
    if (read.kind === 'wrong') return { ...this.#wrongResult(going, read.message), references };
    this.#options.counts.restored(read.restored);
    const labels = pass.kept.overlay('labels', read.labels, input.host);
    const annotations = pass.kept.overlay('annotations', read.annotations, input.host);
    const payload = pass.kept.keepsPayload && input.host ? translation.kind.payloadOf(input.host) : read.payload;
    const problem = problemOfResult({ labels, annotations, payload });
    if (problem !== undefined) return { ...this.#wrongResult(going, problem), references };
    return { kind: 'patched', draft: this.#draftOf(pass, { labels, annotations, payload }), references };
  }

  /** One call of the sandbox for patches whose places do not touch each other. */
  async #runForward(run: readonly CompiledPatch[], pass: Pass): Promise<Failed | undefined> {
    const groups: ValueGroup[] = [];
    const asked: { patch: CompiledPatch; matches: Matches; isWhole: boolean }[] = [];
    for (const patch of run) {
      const matches = matchesOf(patch, pass);
      const isWhole = matches.whole !== undefined;
      if (patch.isLabels) {
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
    const results = await this.#options.evaluator.evaluate({
      subject: keyOf(pass.virtual.namespace, pass.virtual.name),
      hostObject: hostObjectOf(pass.host, pass.translation.kind),
      virtualObject: virtualObjectOf(pass.virtual, pass.translation.kind),
      groups,
    });
    for (const [at, { patch, matches, isWhole }] of asked.entries()) {
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
    this.#options.counts.evaluated(patch.index, matches.values.length, answer.errors.length);
    if (answer.errors.length > 0) return this.#fallBack({ patch, matches, errors: answer.errors }, pass);
    const before = mapsOf(pass.view);
    traceResults(patch, { matches, values }, this.#options.trace);
    const written = isWhole ? readWhole(pass.view, values[0], pass) : writeResults(matches, values);
    if (written.kind === 'fault') {
      return this.#fallBack(
        { patch, matches, errors: [{ at: 0, error: { kind: 'type', message: written.message } }] },
        pass,
      );
    }
    if ('restored' in written) this.#options.counts.restored(Number(written.restored));
    this.#options.counts.changed(patch.index, written.changes);
    if (patch.path.segments.length < 3) noteWholeOwners(patch, before, pass);
    return undefined;
  }

  #fallBack(failed: Failed, pass: Pass): Failed | undefined {
    const { patch } = failed;
    this.#options.counts.failed(patch.index, failed.errors[0]?.error.kind ?? 'threw');
    traceFailure(failed, this.#options.trace);
    if (patch.entry.onError === 'skip') return undefined;
    const mayKeep = pass.host !== undefined && !isNewVirtualObject(pass.host, pass.virtual);
    if (patch.entry.onError !== 'keepLast' || !mayKeep) return failed;
    pass.kept.add(patch, failed.matches);
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
        return this.#fallBack(
          { patch, matches, errors: [{ at, error: { kind: 'type', message: translated.message } }] },
          pass,
        );
      }
      values.push(translated.value);
    }
    traceResults(patch, { matches, values }, this.#options.trace);
    writeResults(matches, values);
    return undefined;
  }

  #translateReferences(
    patch: CompiledPatch,
    { matches, reference }: { matches: Matches; reference: CompiledReference },
    pass: Pass,
  ): Failed | undefined {
    const before = this.#options.trace && structuredClone(matches.values);
    const written = referencesForward(reference, matches, {
      namespace: pass.virtual.namespace,
      placement: pass.translation.placement,
      resolver: this.#options.references,
    });
    if (written.kind === 'wrong') {
      const { at, message } = written;
      return this.#fallBack({ patch, matches, errors: [{ at, error: { kind: 'type', message } }] }, pass);
    }
    this.#options.counts.evaluated(patch.index, matches.values.length, 0);
    this.#options.counts.changed(patch.index, written.changes);
    pass.references.push(...written.found);
    if (before !== undefined) {
      const after = matches.values.map((value, at) =>
        typeof value === 'string'
          ? (matches.parents[at] as Record<string, unknown>)[matches.keys[at] as string]
          : value,
      );
      traceResults(patch, { matches: { ...matches, values: before }, values: after }, this.#options.trace);
    }
    return undefined;
  }

  #draftOf(
    pass: Pass,
    result: { labels: Map<string, string>; annotations: Map<string, string>; payload: Draft['payload'] },
  ): Draft {
    const { draft, translation, wholeOwners } = pass;
    const { set } = this;
    const ownerOf = (map: 'labels' | 'annotations', virtualKey: string): KeyOwner => {
      const hostKey = translation[map].toHost(virtualKey) ?? virtualKey;
      return set.ownerOf(map, hostKey) ?? wholeOwners[map].get(hostKey) ?? 'shared';
    };
    const touched = (map: 'labels' | 'annotations'): Set<string> => {
      const hostKeys = changedKeys(new Map(draft[map]), result[map]);
      for (const key of [...draft[map].keys(), ...Object.keys(pass.host?.[map] ?? {})])
        if (set.ownerOf(map, key)) hostKeys.add(key);
      return new Set([...hostKeys].flatMap((key) => translation[map].toVirtual(key) ?? []));
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

  /** Which of several patches made the result wrong cannot be told; the last one that ran is named. */
  #wrongResult(going: readonly CompiledPatch[], message: string): { kind: 'failed'; failure: PatchFailure } {
    const patch = going.at(-1) as CompiledPatch;
    this.#options.counts.failed(patch.index, 'type');
    const failure = {
      patch: patch.index,
      path: patch.entry.path,
      at: '',
      class: 'type',
      message: `patches of this object give no valid Endpoints: ${message}`,
    };
    return { kind: 'failed', failure };
  }

  /** Values that the host changed, as the virtual side should hold them. */
  back(input: BackInput): Promise<Reversed> {
    return reverse(input, this.#options);
  }
}

function matchesOf(patch: CompiledPatch, { view }: Pass): Matches {
  return patch.path.match(view, { createMissing: patch.entry.onMissing === 'create', withPaths: true });
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
  for (const map of ['labels', 'annotations'] as const) {
    for (const key of changedKeys(before[map], after[map])) pass.wholeOwners[map].set(key, owner);
  }
}
