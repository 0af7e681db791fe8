// Decides whether a user may act as another user. In: the sender, the wanted user, the request and the tenant's authorization.
// Out: the user that the request runs as, or a 403.
//
// Since 1.36 the real server knows five modes. Four of them are constrained: they ask for `impersonate:<mode>` on the wanted user
// and for `impersonate-on:<mode>:<verb>` on the request itself. The fifth, the old one, asks for `impersonate` only.
import type { IncomingMessage } from 'node:http';
import { refuseImpersonation } from './denial.ts';
import type { Authorize, User } from './identity.ts';
import { type WantedUser, wantedUser } from './impersonation.ts';
import { type Attempt, accountOf, authenticationGroup, demand, impersonated, nodeOf } from './impersonation-rights.ts';
import { StatusFault } from './status-fault.ts';
import type { Target, Verb } from './target.ts';

type ModeName = 'associated-node' | 'arbitrary-node' | 'serviceaccount' | 'user-info' | 'legacy';

/** In the order in which the modes are tried. */
const modeNames: readonly ModeName[] = ['associated-node', 'arbitrary-node', 'serviceaccount', 'user-info', 'legacy'];

const nodeOfAccount = 'authentication.kubernetes.io/node-name';
/** As in the real server; an entry takes about 100 bytes. */
const rememberedSenders = 10_000;

export class Impersonation {
  readonly #authorize: Authorize;
  readonly #isOn: boolean;
  /** The mode that last allowed a sender, by the sender's name: it is tried first, and a refusal speaks about it. */
  #lastMode = new Map<string, ModeName>();

  constructor(options: { authorize: Authorize; isOn: boolean }) {
    this.#authorize = options.authorize;
    this.#isOn = options.isOn;
  }

  /** The user that the request runs as: the sender, or the user whom the sender impersonates. */
  async actor({ sender, target, request }: { sender: User; target: Target; request: IncomingMessage }): Promise<User> {
    if (!this.#isOn) {
      refuseImpersonation(request);
      return sender;
    }
    const wanted = wantedUser(request);
    return wanted === undefined ? sender : this.userFor({ sender, wanted, target, authorize: this.#authorize });
  }

  async userFor(attempt: Attempt): Promise<User> {
    const last = this.#lastMode.get(attempt.sender.name);
    const order = last === undefined ? modeNames : [last, ...modeNames.filter((mode) => mode !== last)];
    let firstRefusal: unknown;
    for (const mode of order) {
      try {
        const user = await tryMode(mode, attempt);
        if (user === undefined) continue;
        this.#remember(attempt.sender.name, mode);
        return user;
      } catch (error) {
        if (!(error instanceof StatusFault)) throw error;
        firstRefusal ??= error;
      }
    }
    throw firstRefusal;
  }

  #remember(sender: string, mode: ModeName): void {
    this.#lastMode.delete(sender);
    this.#lastMode.set(sender, mode);
    if (this.#lastMode.size <= rememberedSenders) return;
    for (const oldest of this.#lastMode.keys()) {
      this.#lastMode.delete(oldest);
      return;
    }
  }
}

/** Undefined = the mode is not meant for such a user. Throws the 403 when a right is missing. */
async function tryMode(mode: ModeName, attempt: Attempt): Promise<User | undefined> {
  const { sender, wanted, target } = attempt;
  if (!isFor(mode, sender, wanted)) return undefined;
  if (mode === 'legacy') return impersonated(attempt, { verb: 'impersonate', group: '' });
  await demand(attempt, { ...target, verb: `impersonate-on:${mode}:${target.verb}` as Verb });
  const verb = `impersonate:${mode}`;
  if (mode === 'associated-node') return impersonated(attempt, { verb, group: authenticationGroup, nodeName: '*' });
  return impersonated(attempt, { verb, group: authenticationGroup });
}

function isFor(mode: ModeName, sender: User, wanted: WantedUser): boolean {
  const isBare = wanted.uid === '' && wanted.groups.length === 0 && Object.keys(wanted.extra).length === 0;
  const node = nodeOf(wanted.name);
  const account = accountOf(wanted.name);
  switch (mode) {
    case 'associated-node': {
      const [own, ...others] = sender.extra?.[nodeOfAccount] ?? [];
      const isItsNode = node !== undefined && own === node && others.length === 0;
      return isBare && isItsNode && accountOf(sender.name) !== undefined;
    }
    case 'arbitrary-node':
      return isBare && node !== undefined;
    case 'serviceaccount':
      return isBare && account !== undefined;
    case 'user-info':
      return node === undefined && account === undefined;
    case 'legacy':
      return true;
    default:
      return mode satisfies never;
  }
}
