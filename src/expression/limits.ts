// Every bound of the room in one place, each with its reason. Those of the realm stop builtins that V8 cannot interrupt;
// those of the processes stop what gets past them.

export const expressionLimits = {
  /** An expression is a line or two; longer ones are programs. */
  maxChars: 4_096,
  maxNodes: 2_000,
  /** Deep trees cost stack in every later step. */
  maxNesting: 64,
  /** Faults of one expression that are told in words, and as many warnings; the other faults are counted. */
  told: 10,
  /** Operators and calls of a line or two; each takes a millisecond of a long text, new Set(text) twenty. */
  stepsUnwatched: 16,
} as const;

export const realmLimits = {
  /** Characters of any text inside: an object is 1.5 MB at most (etcd), its fields far less. */
  text: 1_048_576,
  /** Elements of an array that methods work on; 1.5 MB of Endpoints have about 20,000 addresses. */
  elements: 100_000,
  /** Product of the lengths in a search, about 50 ms of a builtin that cannot be interrupted. */
  search: 50_000_000,
  /**
   * Text that a regular expression is applied to by replace, match and split: each match costs about 100 bytes. Base64, URIs
   * and hashes take no more either: a list of their bytes costs as much.
   */
  matched: 262_144,
  /** Of a regular expression: people write a line of it, and V8 compiles it without a look at the clock. */
  pattern: 1_024,
  /** Of what patternWeight() counts: each unit can double the time to compile, and twenty take about 20 ms. */
  patternWeight: 20,
  /** Normalisation grows text up to 18 times, and sorts marks on one letter in the square of their number: 120 ms of these. */
  normalized: 8_192,
  /** Kubernetes takes 256 KiB of annotations for a whole object. */
  resultText: 262_144,
  /** Keys and values of one result; the largest Endpoints that etcd takes has about 150,000. */
  resultUnits: 200_000,
  /** Far below what would run out of stack in those who walk the result; objects of Kubernetes nest a dozen deep. */
  resultDepth: 64,
  /** Characters of all results of one call; also what the main process has to parse in one go. */
  results: 3_145_728,
  /** Characters of an answer as JSON, where control characters take six; three bytes each still fit into a frame. */
  answer: 5_242_880,
  /** Of what was thrown: enough to find the mistake, too little to carry a secret out. */
  message: 200,
} as const;

export const sandboxLimits = {
  /** Megabytes; a trigger for V8 and no hard cap. */
  isolateMemoryMb: 32,
  /**
   * Megabytes of the heap around the isolate, where requests and answers pass through as text. The largest need
   * about 30 at a time; without a bound V8 lets their remains pile up, beyond it the process aborts and is started again.
   */
  processHeapMb: 64,
  /** Of each half of its youngest part. */
  youngHeapMb: 2,
  /** Time for one object. Below 250 ms a throttled container makes slow machines look like slow expressions. */
  softMs: 500,
  /** No answer for this long means that the child hangs where V8 cannot interrupt it: twice the time of one expression. */
  hardMs: 1_000,
  /** The same beyond the first slice of requests. It ends the process, but no request is refused for it. */
  hangMs: 400,
  /** The same for one request of a batch that ended the process: most of them answer in a millisecond. */
  soloHangMs: 60,
  /** Starting takes 60 ms on a quiet machine; on a busy one a start that is given up is only made again. */
  startMs: 30_000,
  /** Characters of one request; four times the largest object that etcd takes, for overlapping patches. */
  frameChars: 4_194_304,
  /** Requests written to the child and not yet answered; more would only lengthen the replay after a crash. */
  inFlight: 16,
  /** Requests that wait for their turn; beyond it the caller is told to come back. */
  waiting: 10_000,
  /** Characters of the requests that wait: as many of the largest objects as are worked on at once. */
  waitingChars: 67_108_864,
  /** isolated-vm keeps a little for every call, so the isolate is renewed now and then. */
  callsPerIsolate: 500_000,
  /** How often a request may be in flight, alone, when the child dies; the evaluator gives it one more chance. */
  deaths: 1,
  /** The same when it dies of a SIGKILL that the watchdog did not send: an operator or the kernel, more likely than the request. */
  killedDeaths: 5,
  /** Resident megabytes above which a process that something ran out in is replaced; it starts with about 55. */
  retireMb: 100,
  /** Resident megabytes at which a process is killed while it runs: the most that good requests were seen to need, and a little. */
  processMb: 160,
  /** Between two looks at the memory of a process that runs something; in that time an expression can take some 50 MB. */
  memoryLookMs: 25,
  /** Pauses before the next start of a child that did not come up, or died with nothing in hand, by how often in a row. */
  restartPausesMs: [0, 100, 1_000, 10_000] as readonly number[],
} as const;

export const answerMemoryLimits = {
  /** Answers and the results in them: some thousand objects with one patch, or some hundred with ten, as a resync asks again. */
  entries: 30_000,
  /** Of requests and results: 8 MB at most, of the daemon's own heap. */
  chars: 4_194_304,
} as const;

export const quarantineLimits = {
  /** First pause of a value, an object or an expression; doubles up to the last. */
  firstMs: 1_000,
  /** A second of the sandbox each time: hundreds of such values may stand around for good. */
  lastOfValueMs: 600_000,
  /** It may get a good value any moment. */
  lastOfObjectMs: 60_000,
  /** Harmless values wait for it too; the values that failed have longer pauses of their own. */
  lastOfExpressionMs: 1_000,
  /** Distinct values of one object within the window that make the object the suspect. */
  valuesOfObject: 2,
  /** Distinct objects within the window, with no success in between, that make the expression itself the suspect. */
  objects: 3,
  windowMs: 60_000,
  /** Values and objects remembered per expression. */
  remembered: 1_000,
} as const;
