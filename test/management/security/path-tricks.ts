// Paths that try to reach what the sender may not, each from a seed: dot steps, encodings, parameters, other letters, absolute
// forms and queries that two readers take differently.
import type { Dice } from '../model/dice.ts';

type Trick = (dice: Dice) => string;

const root = '/kubernetes/management';
const keys = `${root}/apis/management.platform/v1/ownedaccesskeys`;
const own = `${keys}/alices`;
const foreign = `${keys}/bobs`;
const dots = ['..', '.', '%2e%2e', '%2E.', '.%2e', '%252e%252e', '..%00', '..;', '%c0%ae%c0%ae', '\u002e\u002e%20'];
const slashes = ['/', '//', '%2f', '%2F', '%252f', '\\', '%5c', '/./', '/;/', '/%00/'];

/** A step of the path is replaced by itself and a trick. */
function within(path: string, trick: string, dice: Dice): string {
  const steps = path.split('/');
  const at = 1 + dice.below(steps.length - 1);
  return [...steps.slice(0, at), trick, ...steps.slice(at)].join('/');
}

export const pathTricks: readonly Trick[] = [
  (dice) => `${own}${dice.pick(slashes)}${dice.pick(dots)}${dice.pick(slashes)}bobs`,
  (dice) => `${root}/livez${dice.pick(slashes)}${dice.pick(dots)}/apis/management.platform/v1/ownedaccesskeys/bobs`,
  (dice) => `${root}/version/${dice.pick(dots)}${foreign.slice(root.length)}`,
  (dice) => within(foreign, dice.pick(dots), dice),
  (dice) => within(foreign, dice.pick(['', ';a=b', '%00', '%0a', '%0d%0a', ' ']), dice),
  (dice) => `${foreign}${dice.pick(['.', '..', '%00', '%20', ';x=1', '%09', '/', '//', '/.', '%2f', '#x', '%23x'])}`,
  (dice) =>
    `${keys}/${[...'bobs'].map((letter) => (dice.chance(60) ? `%${letter.charCodeAt(0).toString(16)}` : letter)).join('')}`,
  (dice) =>
    `${keys}/${[...'bobs'].map((letter) => (dice.chance(60) ? `%25${letter.charCodeAt(0).toString(16)}` : letter)).join('')}`,
  (dice) =>
    foreign.replace(
      'ownedaccesskeys',
      dice.pick(['OwnedAccessKeys', 'OWNEDACCESSKEYS', 'ownedaccesskeyſ', 'oak', 'ownedaccesskey']),
    ),
  (dice) =>
    foreign.replace(
      'management.platform',
      dice.pick(['Management.Platform', 'management.platform.', 'management%2eplatform', '*']),
    ),
  (dice) => `${dice.pick(['https://localhost', 'http://evil.example', 'https://root@localhost', 'https:'])}${foreign}`,
  (dice) => `${root}${dice.pick(['foo', '-x', '%20', '.', ';'])}${foreign.slice(root.length)}`,
  (dice) =>
    `${dice.pick(['/KUBERNETES/management', '/kubernetes//management', '/kubernetes/./management', '/x/../kubernetes/management'])}${foreign.slice(root.length)}`,
  (dice) =>
    `${keys}?fieldSelector=${dice.pick(['metadata.name%3Dbobs', 'metadata.name=bobs', 'metadata.name%3D%3Dbobs', 'spec.user%3Dbob', 'metadata.name!%3Dalices'])}`,
  (dice) =>
    `${keys}?fieldSelector=metadata.name%3Dalices&fieldSelector=${dice.pick(['metadata.name%3Dbobs', 'spec.user%3Dbob'])}`,
  (dice) =>
    `${keys}?${dice.pick(['watch=false&watch=true', 'limit=1;watch=true', 'labelSelector=%00', 'continue=..%2f..%2fbobs', 'resourceVersion=-1', 'limit=99999999999999999999'])}&timeoutSeconds=1`,
  (dice) =>
    `${root}/apis/management.platform/v1/${dice.pick(['watch/', 'proxy/', 'redirect/', 'namespaces/default/', 'namespaces/../'])}ownedaccesskeys/bobs?timeoutSeconds=1`,
  (dice) =>
    `${root}/apis/management.platform/v1/namespaces/${dice.pick(['p-bank', 'p-bank%2f..', 'p-shop%2f..%2fp-bank', '%70-bank', 'p-bank%00'])}/virtualclusterinstances`,
  (dice) => dice.pick(['*', '', 'kubernetes/management', '?x', '#', '//', '/\\', `/${'a/'.repeat(2_000)}`]),
];
