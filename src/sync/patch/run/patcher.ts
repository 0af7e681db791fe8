// Runs the patches of a configuration over one object, forward on its draft and back on the values that changed on the host. In: a patch
// set, an evaluator, drafts. Out: patched drafts, reversed values, or the failed patch and the reason. All patches of an object
// succeed or its draft is not used. It must never write to a cluster, and never look at the time.

import type { GroupResult, ValueGroup } from '../../../expression/evaluate/request.ts';
import type { Matches } from '../../../expression/path/path.ts';
import { writeResults } from '../../../expression/path/write-results.ts';
import { keyOf } from '../../../object/meta/object.ts';
import { emptyMap } from '../../../object/text/json.ts';
import type { Draft } from '../../plan/draft.ts';
import type { ResultProblem } from '../../plan/kind.ts';
import type { PatchFailure } from '../../plan/step.ts';
import { isNewVirtualObject } from '../../plan/update-patch.ts';
import type { BackInput, Reversed } from '../back/back-types.ts';
import { mapsOf, mayOwnAnyKey, noteWholeOwners } from '../back/key-owners.ts';
import { reverse } from '../back/reverse.ts';
import { tryForward } from '../back/try-forward.ts';
import type { ForwardInput, Pass, PatcherOptions } from '../entry/pass.ts';
import type { FoundReference } from '../entry/reference-patch.ts';
import { matchesIn, traceFailure, traceResults, withPlaces } from '../entry/runs.ts';
import { textsNow, translate } from '../entry/translate.ts';
import { problemOfKeyCount, problemOfResult } from '../result/validate-result.ts';
import { blamedPatchOf, type PatchWrite } from '../set/blamed-patch.ts';
import { isOfWholeMap } from '../set/changed-parts.ts';
import {
  errorsOf,
  type Failed,
  failureOf,
  faultOf,
  type GivenUp,
  giveUp,
  insteadOf,
  isPartial,
  wrongObject,
} from '../set/failure.ts';
import { Kept } from '../set/keep-last.ts';
import type { PatchDigests } from '../set/patch-digests.ts';
import type { CompiledPatch, PatchSet } from '../set/patch-set.ts';
import { type ReadBack, readView, viewOf } from '../set/view.ts';
import { type PatchProgram, patchProgramOf } from './patch-program.ts';
import { patchedDraft } from './patched-draft.ts';
import { readWhole, wholeOf } from './whole-object.ts';

export type Patched =
  /** lapse: a patch failed, and its onError lets the object go on without it. */
  ({ kind: 'patched'; draft: Draft; lapse?: PatchFailure | undefined } | { kind: 'failed'; failure: PatchFailure }) & {
    /** Objects that the host object will name. A failed pass lists those that it found before it failed. */
    references: readonly FoundReference[];
  };

export class Patcher {
  readonly set: PatchSet;
  /** Digests of everything that the results of patches depend on, except the objects. */
  readonly digests: PatchDigests;
  /** Some expression reads the host object. */
  readonly seesHost: boolean;
  readonly #options: PatcherOptions;
  /** The patches that change something forward, grouped into runs. */
  readonly #program: PatchProgram;
  readonly #mayOwnAnyKey: boolean;

  constructor(options: PatcherOptions) {
    const { patches } = options.set;
    this.set = options.set;
    this.digests = options.digests;
    this.#options = options;
    const forward = patches.filter((patch) => patch.forward ?? patch.reference ?? patch.isLabels);
    this.#program = patchProgramOf(forward, options);
    this.seesHost = this.#program.seesHost;
    this.#mayOwnAnyKey = patches.some((patch) => mayOwnAnyKey(patch, options.set));
  }

  /** For somebody who only looks. */
  onlooker(counts: PatcherOptions['counts']): Patcher {
    return new Patcher({ ...this.#options, counts, evaluator: this.#options.evaluator.onlooker });
  }

  /** Returns at once when the evaluator remembers all results, which is the common case. */
  forward(input: ForwardInput): Patched | Promise<Patched> {
    return this.#afterTry(this.#tryWithout(noneGivenUp, input), input);
  }

  /** A loop instead of recursion, so that the memory of a failed try is free before the next try. */
  #afterTry(first: Tried | Promise<Tried>, input: ForwardInput): Patched | Promise<Patched> {
    let tried = first;
    for (;;) {
      if (tried instanceof Promise) return tried.then((settled) => this.#afterTry(settled, input));
      if (tried.kind !== 'again') return tried;
      tried = this.#tryWithout(tried.givenUp, input);
    }
  }

  #tryWithout(givenUp: Pass['givenUp'], input: ForwardInput): Tried | Promise<Tried> {
    const { draft, translation, isTrial = false } = input;
    const pass: Pass = {
      ...input,
      isTrial,
      view: viewOf(draft, draft.payload, translation.kind.protectedFields),
      changedParts: { labels: false, annotations: false, payload: false },
      kept: undefined,
      wholeOwners: undefined,
      references: [],
      writes: [],
      givenUp,
      // Later tries repeat what the first one has traced.
      trace: givenUp.size === 0 && !isTrial ? this.#options.trace : undefined,
      lapse: undefined,
    };
    return this.#runFrom(pass, 0);
  }

  #runFrom(pass: Pass, from: number): Tried | Promise<Tried> {
    const { runs } = this.#program;
    for (let at = from; at < runs.length; at++) {
      const run = runs[at] as readonly CompiledPatch[];
      // An expression for the whole object would return wrong metadata in another form, and the wrong patch would be blamed.
      const misread = run.some(isOfWholeObject) ? this.#read(pass) : undefined;
      if (misread?.kind === 'wrong') return this.#afterWrong(misread, pass);
      const ended = this.#runForward(run, pass);
      if (ended instanceof Promise)
        return ended.then((failed) =>
          failed === undefined ? this.#runFrom(pass, at + 1) : this.#failed(failed, pass),
        );
      if (ended !== undefined) return this.#failed(ended, pass);
    }
    return this.#finish(pass);
  }

  #failed(failed: Failed, { references }: Pass): Patched {
    return { kind: 'failed', failure: this.#say(failed, 'expression'), references };
  }

  #read({ view, changedParts, draft, translation }: Pass): ReadBack {
    return readView(view, { kind: translation.kind, changedParts, draft });
  }

  #finish(pass: Pass): Tried {
    const { draft, translation } = pass;
    const read = this.#read(pass);
    if (read.kind === 'wrong') return this.#afterWrong(read, pass);
    if (read.restored > 0) this.#options.counts.restored(read.restored);
    const kept = pass.kept?.overlay(read, pass.host, translation.kind) ?? read;
    const problem = problemOfResult(kept, { kind: translation.kind, draft });
    if (problem !== undefined) return this.#afterWrong(problem, pass);
    const patched = patchedDraft(pass, kept, this);
    return { kind: 'patched', draft: patched, references: pass.references, lapse: pass.lapse };
  }

  #afterWrong(problem: ResultProblem, pass: Pass): Tried {
    const { givenUp, references } = pass;
    const blamed = blamedPatchOf(pass.writes, pass.view, problem.place);
    // The patch made an invalid object: that counts as its failure, and its onError decides.
    const next = blamed && blamed.entry.onError !== 'fail' ? giveUp(givenUp, blamed, problem) : undefined;
    if (next === undefined) return { kind: 'failed', failure: this.#wrongResult(problem, blamed, pass), references };
    return { kind: 'again', givenUp: next };
  }

  /** Runs patches whose places do not overlap in one call of the sandbox. */
  #runForward(run: readonly CompiledPatch[], pass: Pass): Failed | undefined | Promise<Failed | undefined> {
    const asked: ValuesToWrite[] = [];
    for (const patch of run) {
      const matches = matchesIn(pass, patch, 'forward');
      const message = pass.givenUp.get(patch);
      if (typeof message === 'string') {
        const failed = this.#fallBack(faultOf(patch, matches, message), pass);
        if (failed !== undefined) return failed;
      } else if (patch.isLabels || patch.reference !== undefined) {
        const failed = this.#translate(patch, matches, pass);
        if (failed !== undefined) return failed;
      } else if (patch.forward !== undefined && matches.values.length > 0) {
        const { missing, paths, whole } = matches;
        const values = whole === undefined ? matches.values : [wholeOf(pass.view, pass)];
        const expression = patch.forward;
        asked.push({ expression, values, missing, paths, patch, matches, results: undefined, before: undefined });
      }
    }
    if (asked.length === 0) return undefined;
    const answer = this.#options.evaluator.evaluate({
      subject: keyOf(pass.virtual.namespace, pass.virtual.name),
      ...this.#program.seenOf(pass),
      groups: asked,
    });
    return answer instanceof Promise
      ? answer.then((results) => this.#settleAll(asked, results, pass))
      : this.#settleAll(asked, answer, pass);
  }

  #settleAll(asked: readonly ValuesToWrite[], results: readonly GroupResult[], pass: Pass): Failed | undefined {
    for (let at = 0; at < asked.length; at++) {
      const failed = this.#settle(asked[at] as ValuesToWrite, results[at] as GroupResult, pass);
      if (failed !== undefined) return failed;
    }
    return undefined;
  }

  /** Writes the results of one patch, or applies its onError. */
  #settle(write: ValuesToWrite, { results, errors: thrown }: GroupResult, pass: Pass): Failed | undefined {
    const { patch, matches } = write;
    this.#options.counts.evaluated(patch.index, matches.values.length);
    const wrong = errorsOf(pass.givenUp, patch, matches);
    const errors = wrong.length === 0 ? thrown : [...thrown, ...wrong];
    const ended = errors.length > 0 ? this.#fallBack({ patch, matches, errors }, pass) : undefined;
    if (ended !== undefined || (errors.length > 0 && !isPartial({ patch, matches, errors }))) return ended;
    const values = errors.length === 0 ? results : [...results];
    for (const { at } of errors) (values as unknown[])[at] = matches.values[at];
    const isWhole = matches.whole !== undefined;
    const isOfMap = isOfWholeMap(patch.path);
    const tooMany = isOfMap ? problemOfKeyCount(values) : undefined;
    if (tooMany !== undefined) return this.#fallBack(faultOf(patch, matches, tooMany), pass);
    const before = isOfMap ? mapsOf(pass.view) : undefined;
    const asked = isWhole && pass.trace !== undefined ? { ...matches, values: [wholeOf(pass.view, pass)] } : matches;
    traceResults(patch, { matches: asked, values }, pass.trace);
    const written = isWhole ? readWhole(pass.view, values[0], pass) : writeResults(matches, values);
    if (written.kind === 'fault') return this.#fallBack(faultOf(patch, matches, written.message), pass);
    // An expression that deletes the metadata deletes all labels and annotations.
    pass.view.metadata ??= { labels: emptyMap(), annotations: emptyMap() };
    write.results = values;
    write.before = before;
    pass.writes.push(write);
    if ('restored' in written) this.#options.counts.restored(Number(written.restored));
    this.#changed(patch, written.changes, pass);
    if (before !== undefined) noteWholeOwners(patch, before, pass, this.set);
    return undefined;
  }

  #fallBack(plain: Failed, pass: Pass): Failed | undefined {
    const failed = withPlaces(plain, pass.view);
    const { patch } = failed;
    const failure = this.#say(failed, 'expression');
    this.#options.counts.failed(patch.index, failure.class, failure.message);
    const { onError } = patch.entry;
    const mayKeep = pass.host !== undefined && !isNewVirtualObject(pass.host, pass.virtual);
    const endsPass = onError === 'fail' || (onError === 'keepLast' && !mayKeep) || failure.isPassing === true;
    traceFailure(failed, pass.isTrial ? undefined : this.#options.trace, { endsPass });
    if (endsPass) return failed;
    if (onError === 'keepLast') {
      pass.kept ??= new Kept();
      pass.kept.add(failed);
    }
    pass.lapse ??= { ...failure, message: `${failure.message}; ${insteadOf(failed)}` };
    return undefined;
  }

  /** Runs a reference patch or a labels patch, which have no expression. */
  #translate(patch: CompiledPatch, matches: Matches, pass: Pass): Failed | undefined {
    const valuesBefore = pass.trace && structuredClone(matches.values);
    const before = isOfWholeMap(patch.path) ? mapsOf(pass.view) : undefined;
    const translated = translate(patch, matches, { pass, resolver: this.#options.references });
    if (translated.kind === 'wrong')
      return this.#fallBack(faultOf(patch, matches, translated.message, translated.at), pass);
    const { results, changes, found } = translated;
    this.#options.counts.evaluated(patch.index, matches.values.length);
    this.#changed(patch, changes, pass);
    pass.references.push(...found);
    pass.writes.push({ patch, matches, results, before });
    if (valuesBefore === undefined) return undefined;
    const traced = { matches: { ...matches, values: valuesBefore }, values: results ?? textsNow(matches) };
    traceResults(patch, traced, pass.trace);
    return undefined;
  }

  #changed(patch: CompiledPatch, changes: number, { changedParts }: Pass): void {
    this.#options.counts.changed(patch.index, changes);
    if (changes > 0) for (const part of patch.parts) changedParts[part] = true;
  }

  #say(failed: Failed, field: 'expression' | 'reverseExpression'): PatchFailure {
    return failureOf(failed, this.#options.sourceOf(failed.patch.index, field));
  }

  #wrongResult(problem: ResultProblem, blamed: CompiledPatch | undefined, { translation }: Pass): PatchFailure {
    const { counts, sourceOf } = this.#options;
    const source = blamed && sourceOf(blamed.index, blamed.forward === undefined ? 'path' : 'expression');
    const failure = wrongObject(problem, { kind: translation.kind.kind, blamed, source });
    if (blamed === undefined) counts.failedTogether('type');
    else counts.failed(blamed.index, 'type', failure.message);
    return failure;
  }

  /** Reverses the values that the host changed: the new values of the virtual object, and the values that must stay on the host. */
  async back(input: BackInput): Promise<Reversed> {
    const reversed = await reverse(input, this.#options);
    if (this.#program.runs.length === 0) return reversed;
    const forward = (taken: ForwardInput): Patched | Promise<Patched> => this.forward(taken);
    return tryForward(input, reversed, { forward, mayOwnAnyKey: this.#mayOwnAnyKey });
  }
}

const noneGivenUp: GivenUp = new Map();

function isOfWholeObject({ path }: CompiledPatch): boolean {
  return path.segments.length === 0;
}

/** again: a patch made an invalid object, and by its onError the other patches are tried without it. */
type Tried = Patched | { kind: 'again'; givenUp: Pass['givenUp'] };

/** The request of one patch to the evaluator. After the answer it also records the results that the patch wrote. */
interface ValuesToWrite extends ValueGroup, PatchWrite {}
