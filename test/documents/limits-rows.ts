// The rows of docs/limits.md: what is limited, how far, and why. `{name}` is the value of a constant in the sources; the unit
// follows from the end of its name, or stands behind a bar.

export interface LimitRow {
  limit: string;
  value: string;
  why: string;
}

const row = (limit: string, value: string, why: string): LimitRow => ({ limit, value, why });

export const chapters: readonly { title: string; rows: readonly LimitRow[] }[] = [
  {
    title: 'Configuration',
    rows: [
      row(
        'configuration file',
        '{source-text:maxFileBytes}, {maxTokens} YAML tokens, {maxPatches} patches',
        'what a ConfigMap holds; a reload must not stall the daemon, so it works {turnMs} at a time',
      ),
      row(
        'faults told',
        '{listedFaults} of a configuration, {expressionLimits.told} of an expression',
        'further faults are counted: a report of thousands helps nobody',
      ),
    ],
  },
  {
    title: 'Sync',
    rows: [
      row(
        'bookkeeping annotation',
        'left out beyond {maxAnnotationBytes} of annotations',
        "the API server's limit; without it the virtual side wins",
      ),
      row(
        'deletes from one list',
        'more than {believedShare|percent} or more than {believedDeletes} copies need a second list {listsApartMs} later, and {askedByName} of the objects are asked for by name',
        'an empty answer is more often a broken server than an empty cluster, and a server that restarts may answer wrongly for seconds',
      ),
      row(
        'contested object',
        '{freeRepairs} writes that undo a change of others at once, then one every {contestedIntervalMs}',
        'two controllers that disagree must not fill an etcd',
      ),
      row('drain after SIGTERM', '{drainWithinMs}', 'far below the 30 s after which Kubernetes kills'),
      row(
        'readiness',
        'false after {unreadyAfterMs} without a successful write while writes wait',
        'as long as an API server takes to restart',
      ),
      row(
        'verdict of `status`',
        'changes younger than {patienceSeconds} are on the way',
        'a live cluster always has some',
      ),
      row(
        'log',
        '{linesPerSecond} lines a second for written objects, the rest counted in one more',
        'a number tells more than 150,000 lines',
      ),
      row(
        'one pass',
        '{reconcile:requestLimit} requests',
        'a pass that has not settled by then has met a bug; back-off takes over',
      ),
      row(
        'EndpointSlice that a patch makes',
        '{mostEndpoints} endpoints, {mostAddresses} addresses each, {mostPorts} ports',
        "kube-apiserver's own limits",
      ),
      row(
        'labels and annotations of a patched object',
        '{validate-result:maxKeys} keys',
        'looking at more of them would keep the other objects waiting',
      ),
      row(
        'host values looked at one by one',
        '{isolatedKeys} of an object, after one failed; more are held back together',
        'each is one more evaluation of the whole',
      ),
      row('difference that `render` prints', '{cellLimit} line pairs, then one replacement', 'a diff is for people'),
      row(
        'local HTTP port',
        '{headerLimitBytes} of headers',
        'probes and one scraper, and no slow client may keep them out',
      ),
    ],
  },
  {
    title: 'Clusters',
    rows: [
      row(
        'another server, CA or proxy in a kubeconfig',
        'looked for every {followed-access:lookEveryMs} while no connection can be opened; what has not proved to be the same cluster within {graceMs} stops all writes',
        'servers and files rotate one after the other; a typo that names an empty cluster must not look like a mass delete',
      ),
      row(
        'silent watch',
        'after {askAfterMs} the server is asked; a bookmark is expected every {bookmarkIntervalMs}, and {silenceMarginMs} later the watch is replaced',
        'a frozen server must not look like a quiet one',
      ),
      row(
        'lost watch event',
        'found within `hostward.proofInterval`, in lists spread over {spreadShare|percent} of it, mended {standsMs} later',
        'an address must not stay wrong until the next restart; a list amid changes always differs, so a difference must stand for a while',
      ),
      row(
        'one proof',
        '{listTimeMs} for its list; {askLimit} objects asked for singly; from {mendLimit} losses on a whole list',
        'a server forgets the state of a list within that time; a list costs less than so many requests, and its deletes pass the guard',
      ),
    ],
  },
  {
    title: 'Expressions',
    rows: [
      row(
        'one expression',
        '{expressionLimits.maxChars} characters, {expressionLimits.maxNodes} nodes; {sandboxLimits.isolateMemoryMb}; a slice of {sandboxLimits.sliceMs} (more for long requests) in the quick process, then {sandboxLimits.softMs} in the slow one; then the value is set aside',
        "one tenant's value must not stop the others",
      ),
      row(
        'the two sandbox processes',
        'the quick one grows by {sandboxLimits.quickGrowthMb}, both by {sandboxLimits.bothGrowthMb}, so the slow one starts only beside a quick one that has grown by at most {sandboxLimits.idleGrowthMb}; {sandboxLimits.hangMs} of silence beyond a slice; the slow one ends after {sandboxLimits.patienceMs} without a request',
        'daemon and sandbox stay below 300 MB; a process that hangs must not stop the others',
      ),
      row(
        'a value that ran out',
        'set aside for {offenceLimits.firstMs}, doubled with every failure up to {offenceLimits.lastOfValueMs}; its expression waits at the back of the line for at least {offenceLimits.lastOfObjectMs}',
        'most bad values come back within that time',
      ),
      row(
        'one regular expression',
        '{realmLimits.pattern} characters, a weight of {realmLimits.patternWeight} of optional parts, repeated groups and Unicode classes',
        'V8 compiles a pattern without looking at the clock',
      ),
      row(
        'passes that wait for the sandbox',
        'up to {mostAside} without a worker',
        'objects without expressions never wait for those with them',
      ),
      row(
        'texts and lists inside an expression',
        '{realmLimits.text} characters of text, {realmLimits.elements} elements of a list, {realmLimits.resultDepth} levels and {realmLimits.resultText} characters of a result',
        'V8 cannot interrupt its builtins',
      ),
    ],
  },
  {
    title: 'API servers of ours',
    rows: [
      row(
        'body and stored object of an embedded cluster',
        '{kubernetesLimits.bodyBytes} and {kubernetesLimits.storedBytes}',
        'clients of Kubernetes are built for that',
      ),
      row(
        'unread bytes of a watch',
        '{aheadBytes}, then {watch-stream:stalledMs} to read them; the rest waits in the history',
        'a caller may have many watches',
      ),
      row(
        'one piece of a long answer, and of what a selector reads',
        '{pieceLength|bytes}, {turnLength|bytes} read, {turnObjects} deleted objects, then others get a turn',
        'one request must not hold the event loop for long',
      ),
      row(
        'rest of a body after its answer',
        '{unread-body:mostBytes} and {unread-body:longestMs} are read, then the connection is cut',
        'a client that is still sending can read its answer, and nobody sends for ever',
      ),
      row(
        'parameters of a query',
        '{maxParameters}, then 400',
        'with more, kube-apiserver reads none, also no selector',
      ),
    ],
  },
  {
    title: 'Management API',
    rows: [
      row(
        'what one access key holds open, and all together',
        '{callerLimits.connections.ofOne} and {callerLimits.connections.altogether} connections, {callerLimits.requests.ofOne} and {callerLimits.requests.altogether} requests, {callerLimits.watches.ofOne} and {callerLimits.watches.altogether} watches, then 429',
        'one leaked key or a program in a loop must not take the server from the others',
      ),
      row(
        'bodies without an answer',
        '{callerLimits.bodies.ofOne|bytes} of one key and {callerLimits.bodies.altogether|bytes} altogether (a sixteenth of the memory, if that is less), then 429; when all are too many, the oldest one that is not whole gives way',
        'a parsed body takes several times its bytes',
      ),
      row(
        'time on the event loop',
        '{loopShares.ofOne|percent} of the last {windowSeconds} for one key, {loopShares.altogether|percent} for all (then only keys below {loopShares.small|percent}), then 429 with the time to wait',
        'one key must not make the others wait',
      ),
      row(
        'work for callers before the loop looks at what has come in',
        '{loop-time:sliceMs}; what waits is done key by key in turn',
        'hundreds of requests that arrive at once must not stand before a probe',
      ),
      row('headers of a request', '{api-server:maxHeaderBytes}, then 431', 'clients of this API send far less'),
      row(
        'body and stored object',
        '{managementLimits.bodyBytes} and {managementLimits.storedBytes} (413); {managementLimits.counts.labels} labels, {managementLimits.counts.annotations} annotations, {managementLimits.counts.finalizers} finalizers, owners and managers each (422); a larger object of old may only shrink',
        'a key is small, and thousands of them are in memory',
      ),
      row(
        'bytes of stored keys',
        '{bytesOfKey|bytes} for each key that an owner may have, then 403',
        'the number of keys alone does not limit the memory',
      ),
      row(
        'history for watches and old lists',
        '{maxHistoryBytes} of replaced values; {defaultHistoryLimits.maxAgeMs}, {defaultHistoryLimits.maxRevisions} changes',
        'it lies in memory and on disk, and whoever has a key can fill it',
      ),
      row(
        'free pages of the database, and its log',
        '{freePagesKept} pages, {walSizeLimitBytes}',
        'one writer must not fill the disk of all',
      ),
      row(
        'unread answers',
        '{mostUnreadBytes} together, then the longest waiting are cut; one waits {respond:stalledMs} for its reader',
        'hundreds of lists that nobody reads must not fill the memory',
      ),
      row(
        'scope of an access key',
        '{parse-scope:maxEntries} entries in a list, {maxItems} items in a rule',
        'every request is compared with all of them',
      ),
      row('keys that made one another', 'a chain of {maxMakers}', 'a deeper chain is more than a person can follow'),
      row(
        'overlap of a rotated key',
        '{maxOverlapSeconds}',
        'a weekly pipeline must have time to pick up the new value',
      ),
      row(
        'objects named in one outcome of the audit log',
        '{mostWritten}, the rest counted',
        'the deletion of a selection may go through a hundred thousand',
      ),
      row(
        'audit log and journal',
        'a new file after {chain-file:maxFileBytes}; {maxWaiting} waiting lines, then 503; `audit.keepFiles` full files of the audit log stay, {mostAuditFiles} at most',
        'a verification reads a whole file; more waiting lines mean that the disk stands still; a log without a bound fills the disk',
      ),
    ],
  },
  {
    title: 'Proxy, direct endpoints and kubeconfigs',
    rows: [
      row(
        'requests that pass the proxy at a time',
        '{callerLimits.proxied.altogether}, of one key {callerLimits.proxied.ofOne}, then 429',
        'each holds two sockets and their buffers',
      ),
      row(
        'a silent cluster behind the proxy',
        '{connectWithinMs} to connect; {silentAfterMs} without a byte of the body taken, for the head of an answer (1xx do not count), and without a byte of its rest; streams end with their key or client',
        'a little more than the minute that kube-apiserver gives a request',
      ),
      row(
        'last words of a session that the server ends',
        '{lastWordsMs}, then the connection is cut',
        "a client that does not read must not keep a dead key's connection open",
      ),
      row(
        'direct token',
        '{maxTokenBytes}; {shortestTokenTTL|seconds} to {longestTokenTTL|seconds}, {defaultTokenTTL|seconds} by default',
        'proxies commonly limit a header to 8 KiB; a longer life would outlive the reason for the token',
      ),
      row(
        'clocks of an issuer and a direct endpoint',
        'a token counts {aheadSeconds} early and {lateSeconds} late',
        'the clocks of two machines differ',
      ),
      row(
        'audit lines and key uses that a direct endpoint sends',
        '{agent-lines:maxEntries} lines and {maxUses} uses in a report of at most {maxReportBytes}; {maxWaitingLines} lines wait; {keptFiles} full files stay beside `audit.log`',
        "more in one request would hold up the audit lines of others; the endpoint's own file keeps the lines that do not fit",
      ),
      row(
        'watch of revocations',
        'a bookmark every {heartbeatMs}',
        'an endpoint refuses every token after `hostward.direct.silence`',
      ),
      row(
        'kubeconfig of a virtual cluster',
        '{daySeconds} by default, {shortestSeconds} at least',
        'the CSR API refuses shorter certificates',
      ),
      row(
        'live client certificates',
        '{certificateLimits.ofOneKey} of an access key, {certificateLimits.ofOneInstance} of a virtual cluster',
        'each is a binding there, and its API server reads all bindings for each decision',
      ),
      row(
        'signing of a client certificate',
        '{signWithinMs}',
        'a signer that works answers within two seconds, and a person waits',
      ),
    ],
  },
];
