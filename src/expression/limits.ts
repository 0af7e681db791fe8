// Every limit of the room in one place, each with its reason. The limits of the realm bound builtins that V8 cannot interrupt;
// the limits of the sandbox end an expression that gets past the realm.

export const expressionLimits = {
  /** An expression is a line or two; longer ones are programs. */
  maxChars: 4_096,
  maxNodes: 2_000,
  /** Every later pass over the tree recurses, so deep trees cost stack. */
  maxNesting: 64,
  /** Faults, and also warnings, of one expression that are reported in words; the rest is only counted. */
  reported: 10,
  /** Operators and calls up to which the code gets no `$$turn()`: on a long text each takes a millisecond, new Set(text) twenty. */
  stepsUnwatched: 16,
} as const;

export const realmLimits = {
  /** Characters of any text in the realm: etcd takes objects of 1.5 MB at most, and their fields are far shorter. */
  text: 1_048_576,
  /** Elements of an array for its methods; Endpoints of 1.5 MB have about 20,000 addresses. */
  elements: 100_000,
  /** Product of the lengths in a search, about 50 ms of a builtin that cannot be interrupted. */
  search: 50_000_000,
  /**
   * Characters of a text for replace, match and split with a regular expression, where each match costs about 100 bytes. The same
   * limit holds for base64, URIs and hashes, because a list of their bytes costs as much.
   */
  matched: 262_144,
  /** Characters of a regular expression: people write a line, and V8 cannot interrupt its compilation. */
  pattern: 1_024,
  /** Result of patternWeight(): each unit can double the time to compile, and twenty units take about 20 ms. */
  patternWeight: 20,
  /** Characters to normalise: a text can grow 18 times, and sorting many marks on one letter is quadratic, 120 ms at this length. */
  normalized: 8_192,
  /** Characters of one text result: Kubernetes allows 256 KiB of annotations for a whole object. */
  resultText: 262_144,
  /** Keys and values of one result; the largest Endpoints that fit into etcd have about 150,000. */
  resultUnits: 200_000,
  /** Levels of a result: Kubernetes objects nest a dozen deep, and the recursive walks over a result have stack for far more. */
  resultDepth: 64,
  /** Characters of all results of one request, because the daemon parses them without a break. */
  results: 3_145_728,
  /** Characters of an answer as JSON, where a control character takes six; at three bytes each the answer still fits into a frame. */
  answer: 5_242_880,
  /** Characters of an error message: enough to find the mistake, too few to leak a large secret. */
  message: 200,
} as const;

export const sandboxLimits = {
  /** Megabytes; V8 acts on this limit late, so the watchdog checks the process as well. */
  isolateMemoryMb: 32,
  /**
   * Megabytes of the heap around the isolate, where requests and answers pass through as text. The largest requests need about
   * 30 at a time. Without a limit V8 lets garbage pile up; beyond the limit the process aborts and is started again.
   */
  processHeapMb: 64,
  /** Megabytes of each half of the young generation of that heap. */
  youngHeapMb: 2,
  /** The whole time for one object. Below 250 ms the pauses of a throttled container would look like slow expressions. */
  softMs: 500,
  /** The time that a request gets at first. Nearly all need a millisecond; one that needs more runs again at the back. */
  sliceMs: 15,
  /** While one request after the other runs out: forty that loop are passed by in half a second, with the isolates that they cost. */
  glanceMs: 4,
  /** Requests in a row that ran out before the next gets a glance first: costly ones that are answered must not be run twice. */
  glanceAfter: 2,
  /** On a slow machine a millisecond is enough to read and write 20,000 characters; a slice allows four times that. */
  charsPerMs: 5_000,
  /**
   * Silence allowed beyond a slice, for throwing away an isolate and building the next; beyond a longer time, half of that time. A
   * longer silence ends the process, but no request fails for its slice.
   */
  hangMs: 40,
  /** How many times the allowed silence a process may take where the kernel gives it no processor, or does not tell. */
  mostStarved: 10,
  /** Time between two looks at a working process; in that time an expression can allocate some 6 MB. */
  lookMs: 3,
  /** A start takes 60 ms on a quiet machine; giving up earlier on a busy machine would only repeat the work. */
  startMs: 30_000,
  /** Pauses before a restart after failed starts or deaths while idle. A death under load pauses nobody. */
  restart: { firstMs: 100, mostMs: 10_000 },
  /** Characters of one request; four times the largest object that etcd takes, for overlapping patches. */
  frameChars: 4_194_304,
  /** Short requests of one call: entering the isolate takes as long as one of them. */
  batchRequests: 8,
  /** Characters of one call of several requests: next to the run of a long request the cost of the call does not matter. */
  batchChars: 8_192,
  /** Waiting requests; beyond this number a request fails at once and the caller retries later. */
  waiting: 10_000,
  /** Characters of the waiting requests: enough for the largest objects that are reconciled at once. */
  waitingChars: 67_108_864,
  /** isolated-vm leaks a little memory with every call, so the isolate is replaced from time to time. */
  callsPerIsolate: 500_000,
  /** Megabytes that an idle process may have grown since its start before it is replaced, after a failure or to make room. */
  idleGrowthMb: 15,
  /** Megabytes that the quick process may grow before it is killed: a request from an object of 2 MB needs 50. */
  quickGrowthMb: 67,
  /**
   * Megabytes that both processes may grow together before the slow one is killed: with the daemon they stay below 300. The slow
   * process has at least 21 of them, because it runs only together with a quick process of ordinary size.
   */
  bothGrowthMb: 36,
  /** The slow process ends after this time without a request, and the oldest request at the back waits no longer for its turn. */
  patienceMs: 10_000,
} as const;

export const answerMemoryLimits = {
  /** Answers and their results: enough to resync thousands of objects with one patch each, or hundreds with ten. */
  entries: 30_000,
  /** Characters of requests and results: at most 8 MB of the daemon's heap. */
  chars: 4_194_304,
} as const;

export const offenceLimits = {
  /** First pause of a value or an object; each further pause doubles. It is also the only pause of an expression. */
  firstMs: 1_000,
  /** Maximum for a value: every try costs a second of the sandbox, and hundreds of bad values may exist for good. */
  lastOfValueMs: 600_000,
  /** Maximum for an object, which may get a good value at any moment, and the time that an offence counts. */
  lastOfObjectMs: 60_000,
  /** Distinct values of one object that run out before the object is set aside. */
  valuesOfObject: 2,
  /** Distinct objects that run out, without a success in between, before the expression is set aside. */
  objects: 3,
  /** Waiting requests from which on an expression is set aside: with half a second for each, the last would wait for a minute. */
  crowd: 100,
  /** Values kept for each expression. */
  remembered: 1_000,
} as const;
