// Faults chosen by hand: mistakes that such programs have had in the world, and those that would hurt most. Those of the rules of sync have a list of their
// own, `test/rig/mutants`, whose net is the rig's seeds.
import { type ChosenRow, managementRows } from './chosen-management.ts';
import { type Mutant, type MutatedRoom, roomOf } from './mutant.ts';

const rows: readonly ChosenRow[] = [
  // The engine.
  [
    'a 410 is taken for a watch that went on',
    'src/cluster/window/reflector-steps.ts',
    "    case 'gone':\n    case 'fault':\n    case 'rollback':",
    "    case 'gone':\n      return { ...about, next: 'watch', delayMs: waitMs };\n    case 'fault':\n    case 'rollback':",
    'test/cluster/window/reflector-steps.test.ts',
  ],
  [
    'an event that is older than the last one is taken',
    'src/cluster/window/event-intake.ts',
    'if (compareVersions(rv, this.#reached) <= 0) return this.#outOfOrder(type, object, rv);',
    '',
  ],
  [
    'a bookmark from the past is taken',
    'src/cluster/window/event-intake.ts',
    'if (compareVersions(rv, this.#reached) < 0) return wentBack(rv, this.#reached);',
    '',
  ],
  [
    'an event of another kind is taken',
    'src/cluster/window/event-intake.ts',
    'if (object.kind !== ref.kind || object.apiVersion !== apiVersionOf(ref)) {',
    'if (object.kind === null) {',
  ],
  [
    'the lease counts from the answer instead of the request',
    'src/cluster/write/lease.ts',
    'this.#heldUntilMs = sentMs + this.#renewMs;',
    'this.#heldUntilMs = this.#clock.now() + this.#renewMs;',
  ],
  [
    'a server that ends every watch gets no pause',
    'src/cluster/window/reflector-steps.ts',
    'Math.max(0, watchFloorMs - history.watchedMs)',
    '0',
    'test/cluster/window/reflector-steps.test.ts',
  ],
  [
    'Retry-After is not heeded',
    'src/cluster/window/reflector-steps.ts',
    'Math.max(end.retryAfterMs ?? 0, waitMs)',
    'waitMs',
    'test/cluster/window/reflector-steps.test.ts',
  ],
  // The kit.
  [
    'a delete ignores the uid it is for',
    'src/apiserver/verbs/delete-object.ts',
    'if (options.uid !== undefined && options.uid !== uid) {',
    'if (options.uid === null) {',
    'test/apiserver/verbs/between.test.ts',
  ],
  [
    'a delete ignores the resourceVersion it is for',
    'src/apiserver/verbs/delete-object.ts',
    'if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {',
    'if (options.resourceVersion === null) {',
  ],
  [
    'a delete overwrites whoever was first',
    'src/apiserver/verbs/delete-object.ts',
    'expect: record.revision, value: next.gone',
    'expect: undefined, value: next.gone',
    'test/apiserver/verbs/between.test.ts',
  ],
  [
    'an update overwrites whoever was first',
    'src/apiserver/verbs/change-object.ts',
    'expect: record.revision, value: isLast',
    'expect: undefined, value: isLast',
    'test/apiserver/verbs/between.test.ts',
  ],
  [
    'finalizers do not hold an object',
    'src/apiserver/verbs/delete-object.ts',
    'const waits = finalizers.length > 0 ||',
    'const waits =',
  ],
  [
    'a write that the kind takes back is written',
    'src/apiserver/verbs/change-object.ts',
    "if (isUndoneByStrategy(object, stored)) return 'unchanged';",
    '',
  ],
  [
    'a dry run writes',
    'src/apiserver/verbs/change-object.ts',
    "if (change.dryRun) return { kind: 'stored', code: 200, text, revision: record.revision };",
    '',
  ],
  [
    'a dry run deletes',
    'src/apiserver/verbs/delete-object.ts',
    'if (options.dryRun) return outcomeOf(call, next, text, record.revision);',
    '',
  ],
  [
    'anybody’s page goes on for anybody',
    'src/apiserver/verbs/continue-token.ts',
    'if (seal !== undefined && !isSame(',
    'if (seal === null && !isSame(',
    'test/apiserver/verbs/continue-token.test.ts',
  ],
  [
    'a page token leaves its list',
    'src/apiserver/verbs/continue-token.ts',
    'if (/(^|\\/)\\.\\.?(\\/|$)/.test(start)) throw',
    'if (start === null) throw',
  ],
  [
    'a request that cannot be classified goes on',
    'src/apiserver/chain/chain.ts',
    'if (fault !== undefined) throw new StatusFault(fault);',
    '',
  ],
  [
    'a bookmark overtakes an event',
    'src/apiserver/verbs/watch/watch-stream.ts',
    'if (!this.#isBehind && this.#watch !== undefined) {',
    'if (this.#watch !== undefined) {',
    'test/apiserver/verbs/bookmarks.test.ts',
  ],
  // The store.
  [
    'compare-and-swap lets a stale expectation through',
    'src/store/timeline.ts',
    'expect === undefined || expect === (current?.revision ?? 0)',
    'expect === undefined || expect <= (current?.revision ?? 0)',
    'test/rig/store/store-checker.test.ts',
  ],
  [
    'a missing key is deleted with success',
    'src/store/timeline.ts',
    'if (value === undefined && current === undefined) return false;',
    '',
    'test/store/memory-store.test.ts',
  ],
  [
    'an update forgets when the object was made',
    'src/store/timeline.ts',
    'createRevision: current?.createRevision ?? stamp.revision,',
    'createRevision: stamp.revision,',
    'test/store/memory-store.test.ts',
  ],
  [
    'an event has no previous value',
    'src/store/timeline.ts',
    'const previous = version.before?.record?.value;',
    'const previous = undefined as string | undefined;',
    'test/store/memory-store.test.ts',
  ],
  [
    'a list of the past shows the present',
    'src/store/timeline.ts',
    'while (version !== undefined && version.revision > revision) version = version.before;',
    '',
    'test/store/memory-store.test.ts',
  ],
  [
    'compaction forgets one revision too many',
    'src/store/timeline.ts',
    'if (version === undefined || version.revision > target) break;',
    'if (version === undefined || version.revision > target + 1) break;',
    'test/store/memory-store.test.ts',
  ],
  [
    'a watch begins one change too late',
    'src/store/timeline.ts',
    'this.#firstAfter((version) => version.revision > revision)',
    'this.#firstAfter((version) => version.revision > revision + 1)',
    'test/store/memory-store.test.ts',
  ],
  [
    'a watch goes on behind what was compacted',
    'src/store/watch-hub.ts',
    "if (this.#ended === 'open' && isBehindHistory) this.#end('overflow');",
    '',
  ],
  [
    'a bookmark runs ahead of a reader of the past',
    'src/store/watch-hub.ts',
    'return this.#isUpToDate ? Math.max(this.#after, this.#options.history().revision) : this.#after;',
    'return Math.max(this.#after, this.#options.history().revision);',
    'test/store/memory-store.test.ts',
  ],
  [
    'a watch of the compacted past is opened',
    'src/store/watched-store.ts',
    "if (afterRevision < compactedRevision) return { kind: 'compacted', compactedRevision };",
    '',
    'test/store/memory-store.test.ts',
  ],
  [
    'a failed batch is told as written',
    'src/store/sqlite/sqlite-store.ts',
    'for (const { reject } of batch) reject(fault);',
    'for (const { resolve } of batch) resolve({ ok: true, revision: 1, createRevision: 1 });',
  ],
  [
    'a reader sees nothing of what was written',
    'src/store/sqlite/sqlite-store.ts',
    'this.#makeVisible(batch, written);\n      for',
    'for',
  ],
  [
    'no write waits while too many do',
    'src/store/sqlite/sqlite-store.ts',
    'this.#queue.length >= maxQueuedWrites || this.#queuedChars >= maxQueuedChars',
    'this.#queue.length === -1',
    'test/store/sqlite-store/faults.test.ts',
  ],
  [
    'a removal has the revision of what came after it',
    'src/store/kubernetes/record-writer.ts',
    'revision ??= removedAt(timeline(), known);',
    'revision = removedAt(timeline(), known);',
    'test/store/kubernetes-store.test.ts',
  ],
  ...managementRows,
  // Expressions.
  [
    'a failed answer is remembered',
    'src/expression/evaluate/answer-memory.ts',
    'if (!answer.every(isRepeatable)) return;',
    '',
  ],
  [
    'an element moves while others are deleted',
    'src/expression/path/write-results.ts',
    'for (const [array, indexes] of emptied ?? []) takeOut(array, indexes);',
    'for (const [array, indexes] of emptied ?? []) for (const index of indexes) array.splice(index, 1);',
  ],
  ['a result reaches the prototype', 'src/expression/path/write-results.ts', "if (key === '__proto__') continue;", ''],
  [
    'a path goes as deep as it likes',
    'src/expression/path/path-grammar.ts',
    'const maxSegments = 64;',
    'const maxSegments = 64_000;',
  ],
  [
    'a process that hangs is left alone',
    'src/expression/sandbox/watchdog.ts',
    'if (silentMs >= allowedMs * mostStarved) return true;',
    'if (silentMs >= allowedMs * mostStarved) return false;',
  ],
  [
    'a process that swells is left alone',
    'src/expression/sandbox/watchdog.ts',
    "if (isTooLarge()) kill('swollen');\n    else if",
    'if',
  ],
];

function mutantOf([claim, file, find, replace, noticedBy]: ChosenRow): Mutant {
  return {
    name: `${file}: ${claim}`,
    room: roomOf(file) as MutatedRoom,
    file,
    ...(noticedBy !== undefined && { noticedBy }),
    plant: (text) => {
      const times = text.split(find).length - 1;
      if (times !== 1) throw new Error(`plant "${claim}": wanted its place once in ${file}, found it ${times} times`);
      return text.replace(find, () => replace);
    },
  };
}

export const chosen: readonly Mutant[] = rows.map(mutantOf);
