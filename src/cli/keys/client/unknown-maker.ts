// Says why a maker has no keys: perhaps nobody of this name is known. In: the maker as --made-by gives it. Out: a sentence. It is no
// fault: a user who has left the configuration may have made keys.
import { nearestKey } from '../../../object/meta/nearest-key.ts';
import type { Context } from '../../line/context.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { configuredServer, isDistant } from './reach-server.ts';

/** Nobody configures it. */
const builtIn = 'admin';

export async function noKeysOf(context: Context, options: Options, maker: string): Promise<string> {
  const sentence = `there are no access keys that ${maker} has made`;
  const [kind, name] = [maker.slice(0, maker.indexOf(':')), maker.slice(maker.indexOf(':') + 1)];
  if (kind !== 'user' && kind !== 'team') return sentence;
  // A distant server tells nobody the names of its users.
  if (isDistant(options)) return `${sentence}; check the name, because a server does not tell which ${kind}s it knows`;
  const { settings } = await configuredServer(context, options);
  const known = [
    ...(kind === 'user' ? settings.users : settings.teams).map((one) => one.name),
    ...(kind === 'user' ? [builtIn] : []),
  ];
  if (known.includes(name)) return sentence;
  // Whoever makes the first keys on this machine looks for them under the name that the machine knows.
  if (kind === 'user' && name === context.osUser)
    return `${sentence}, and the configuration has no user "${name}"; keys that were made on this machine are found with os:${name}`;
  const near = nearestKey(name, known);
  return `${sentence}, and the configuration has no ${kind} "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`;
}
