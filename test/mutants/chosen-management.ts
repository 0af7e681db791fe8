// Faults chosen by hand in the rights of the management API and in its proxy.

/** A fault: its claim, the text that is replaced once in the file, and the suite that notices it when that is known. */
export type ChosenRow = readonly [claim: string, file: string, find: string, replace: string, noticedBy?: string];

const scope = 'src/management/scope';
const keys = 'src/management/keys';
const proxy = 'src/management/proxy';

export const managementRows: readonly ChosenRow[] = [
  // Rights.
  ['a scope is not asked', `${scope}/allows.ts`, 'if (missing >= 0) {', 'if (missing > 0) {', 'test/management/scope'],
  [
    'the scope of the maker is not asked',
    `${scope}/allows.ts`,
    'if (missing >= 0) {',
    'if (missing === 0) {',
    'test/management/scope',
  ],
  [
    'a key of a kubeconfig makes keys',
    `${scope}/allows.ts`,
    'if (credential.issuesNothing === true && isIssuing(request))',
    'if (credential.issuesNothing === null)',
    'test/management/scope',
  ],
  [
    'a space reaches beyond its namespace',
    `${scope}/allows.ts`,
    ' && request.namespace === namespace;',
    ';',
    'test/management/scope',
  ],
  [
    'one verb too many: a viewer creates',
    `${scope}/allows.ts`,
    "verb === 'list' || verb === 'watch' ? 'viewer'",
    "verb === 'list' || verb === 'watch' || verb === 'create' ? 'viewer'",
  ],
  [
    'a viewer of a project counts as its user',
    `${scope}/allows.ts`,
    'roleOrder.indexOf(member.role) >= roleOrder.indexOf(needed) && ',
    '',
    'test/management/scope',
  ],
  [
    'an expired key opens',
    `${keys}/life/credential.ts`,
    "if (isExpired(facts.times, world.lastActivityMs(facts), nowMs)) return 'expired';",
    '',
  ],
  [
    'a disabled key opens',
    `${keys}/life/credential.ts`,
    "return facts.isDisabled ? 'disabled' : undefined;",
    'return undefined;',
  ],
  [
    'a key outlives its maker',
    `${keys}/life/credential.ts`,
    "return makers === undefined || makers.some(isDead) ? 'maker' : undefined;",
    'return undefined;',
  ],
  [
    'a namesake inherits the keys of who left',
    `${keys}/life/credential.ts`,
    "if (presence === 'gone' || world.subjectUid(kind, name) !== uid) return 'subject gone';",
    "if (presence === 'gone') return 'subject gone';",
  ],
  ['a key opens from any network', `${keys}/life/credential.ts`, '!networks.includes(request.address)', 'false'],
  [
    'a rotated secret lives for ever',
    `${keys}/secret/check-secret.ts`,
    'secret.validUntilMs === undefined || nowMs < secret.validUntilMs',
    'true',
  ],
  [
    'any secret of a known key opens',
    `${keys}/secret/check-secret.ts`,
    'isProved || (isRight && isInTime)',
    'isProved || isInTime',
  ],
  [
    'an expired token opens',
    'src/management/credentials/claims/verify-token.ts',
    "if (nowMs >= endMs(claims)) return 'expired';",
    '',
  ],
  [
    'a revoked token opens',
    'src/management/credentials/claims/verify-token.ts',
    "return isRevoked(claims) ? 'revoked' : undefined;",
    'return undefined;',
  ],
  [
    'a token for somebody else opens',
    'src/management/credentials/claims/verify-token.ts',
    'claims.audience.includes(audience)',
    'true',
  ],
  [
    'a token without a right signature opens',
    'src/management/credentials/claims/verify-token.ts',
    "if (!verify(null, Buffer.from(read.signed), key, read.signature)) return refused('signature');",
    '',
  ],
  // The proxy.
  [
    'the client’s Impersonate headers go on',
    `${proxy}/forward/headers.ts`,
    "['impersonate-', 'x-remote-', 'x-forwarded-']",
    "['x-remote-', 'x-forwarded-']",
  ],
  [
    'an underscore hides a header',
    `${proxy}/forward/headers.ts`,
    "name.toLowerCase().replaceAll('_', '-')",
    'name.toLowerCase()',
  ],
  [
    'the client’s token goes on to the cluster',
    `${proxy}/forward/headers.ts`,
    "  'authorization',\n  'cookie',",
    "  'cookie',",
  ],
  [
    'several tokens are one',
    `${proxy}/sender.ts`,
    "if (count > 1) throw badRequest('send one token, found several');",
    '',
  ],
  [
    'a session goes on when its key is revoked',
    `${proxy}/live-streams.ts`,
    'if (because !== undefined) live.stream.close(because);',
    '',
  ],
  [
    'a request goes on before its audit line is written',
    `${proxy}/forward/forward.ts`,
    'await hooks.begins();',
    'void hooks.begins();',
  ],
  [
    'any protocol of the upstream is taken',
    `${proxy}/forward/forward.ts`,
    "if (client.kind === 'socket' && isAsked) return",
    "if (client.kind === 'socket') return",
  ],
  [
    'every group of the sender goes on',
    `${proxy}/forward/upstream-identity.ts`,
    '.filter((group) => known.has(group))',
    '',
  ],
];
