// Code that runs inside the isolate: the methods of texts and regular expressions, bounded by the size of their work and result.

export const realmTexts = String.raw`
const nativeTexts = {};
for (const name of ownKeys(NativeString.prototype)) {
  const method = typeof name === 'string' ? NativeString.prototype[name] : undefined;
  if (typeof method === 'function') nativeTexts[name] = uncurry(method);
}
const subject = (self) => {
  if (self === null || self === undefined) throw new TypeFault('text methods need a text');
  return stringOf(self);
};
const searchable = (text, wanted) => {
  if (wanted.length > 1 && text.length * wanted.length > limits.search) tooBig('search', limits.search + ' steps');
  return wanted;
};
const matchable = (text, what = 'searched text') => (text.length > limits.matched ? tooBig(what, limits.matched + ' characters') : text);
const isRegExp = (x) => typeof x === 'object' && x !== null && getPrototypeOf(x) === RegExpPrototype;
const makeRegExp = (pattern, flags) => {
  const source = isRegExp(pattern) ? pattern.source : pattern === undefined ? '' : stringOf(pattern);
  if (source.length > limits.pattern) tooBig('pattern', limits.pattern + ' characters');
  const marks = flags === undefined ? (isRegExp(pattern) ? pattern.flags : '') : stringOf(flags);
  // The inspection refuses the flag in literals too: its classes of whole texts take V8 seconds and many megabytes to compile.
  if (textIndexOf(marks, 'v') >= 0) throw new SyntaxFault('flag "v" of a regular expression is not available');
  // V8 cannot interrupt the compilation of a pattern.
  if (patternWeight(source, textIndexOf(marks, 'u') >= 0) > limits.patternWeight) {
    fail('size', 'pattern has too many optional parts, repeated groups or Unicode classes to be compiled in time');
  }
  try {
    return new NativeRegExp(source, marks);
  } catch {
    throw new SyntaxFault('pattern is not a regular expression');
  }
};
const SyntaxFault = SyntaxError;

// Expands "$" in a replacement as ECMA-262 defines it in GetSubstitution.
const expand = (template, matched, at, text, captures, groups) => {
  let out = '';
  let rest = 0;
  for (;;) {
    const dollar = textIndexOf(template, '$', rest);
    if (dollar < 0 || dollar === template.length - 1) return capped(out + textSlice(template, rest));
    out += textSlice(template, rest, dollar);
    const mark = template[dollar + 1];
    rest = dollar + 2;
    if (mark === '$') out += '$';
    else if (mark === '&') out += matched;
    else if (mark === '\x60') out += textSlice(text, 0, at);
    else if (mark === "'") out += textSlice(text, at + matched.length);
    else if (mark === '<' && groups !== undefined) {
      const close = textIndexOf(template, '>', rest);
      if (close < 0) out += '$<';
      else {
        const group = groups[textSlice(template, rest, close)];
        out += group === undefined ? '' : group;
        rest = close + 1;
      }
    } else {
      const [number, digits] = captureNumber(template, dollar + 1, captures.length);
      if (number === 0) out += '$' + mark;
      else {
        out += captures[number - 1] === undefined ? '' : captures[number - 1];
        rest = dollar + 1 + digits;
      }
    }
    if (out.length > limits.text) tooLong();
  }
};
const captureNumber = (template, at, count) => {
  const digit = (index) => {
    const code = index < template.length ? charCodeAt(template, index) - 48 : -1;
    return code >= 0 && code <= 9 ? code : -1;
  };
  const [tens, ones] = [digit(at), digit(at + 1)];
  if (tens < 0) return [0, 0];
  const two = ones < 0 ? 0 : tens * 10 + ones;
  if (two > 0 && two <= count) return [two, 2];
  return tens > 0 && tens <= count ? [tens, 1] : [0, 0];
};
const replaceMatches = (native, text, pattern, replacement) => {
  matchable(text);
  const isFunction = typeof replacement === 'function';
  const template = isFunction ? '' : stringOf(replacement);
  // Each character of the template can mean the whole text, once for each match.
  const worst = template.length * (text.length + 1) * (textIndexOf(template, '$') < 0 ? 1 : text.length + 1);
  if (!isFunction && worst <= limits.text) return native(text, pattern, template);
  let built = 0;
  return native(text, pattern, (matched, ...rest) => {
    const last = rest[rest.length - 1];
    const groups = typeof last === 'object' ? last : undefined;
    const count = rest.length - (groups === undefined ? 2 : 3);
    const captures = [];
    for (let at = 0; at < count; at++) captures[at] = rest[at];
    const part = isFunction ? stringOf(replacement(matched, ...rest)) : expand(template, matched, rest[count], text, captures, groups);
    built += part.length;
    return built > limits.text ? tooLong() : part;
  });
};
const replaceTexts = (text, wanted, replacement, all) => {
  searchable(text, wanted);
  const template = typeof replacement === 'function' ? undefined : stringOf(replacement);
  let out = '';
  let rest = 0;
  let at = textIndexOf(text, wanted, 0);
  while (at >= 0) {
    const part = template === undefined ? stringOf(replacement(wanted, at, text)) : expand(template, wanted, at, text, [], undefined);
    out += textSlice(text, rest, at) + part;
    if (out.length > limits.text) tooLong();
    rest = at + wanted.length;
    if (!all || at >= text.length) break;
    at = textIndexOf(text, wanted, wanted.length === 0 ? at + 1 : rest);
  }
  return capped(out + textSlice(text, rest));
};

const textMethods = {
  includes(wanted, from) {
    if (isRegExp(wanted)) throw new TypeFault('includes() looks for a text, not for a regular expression');
    const text = subject(this);
    return nativeTexts.includes(text, searchable(text, stringOf(wanted)), from);
  },
  indexOf(wanted, from) {
    const text = subject(this);
    return nativeTexts.indexOf(text, searchable(text, stringOf(wanted)), from);
  },
  lastIndexOf(wanted, from) {
    const text = subject(this);
    return nativeTexts.lastIndexOf(text, searchable(text, stringOf(wanted)), from);
  },
  concat(...parts) {
    return guards.$$str(subject(this), ...parts);
  },
  padStart(length, fill) {
    const [text, wanted] = [subject(this), NativeNumber(length)];
    if (wanted > limits.text) tooLong();
    return nativeTexts.padStart(text, wanted, fill);
  },
  padEnd(length, fill) {
    const [text, wanted] = [subject(this), NativeNumber(length)];
    if (wanted > limits.text) tooLong();
    return nativeTexts.padEnd(text, wanted, fill);
  },
  repeat(times) {
    const [text, count] = [subject(this), NativeNumber(times)];
    if (text.length * count > limits.text) tooLong();
    // V8 would repeat even an empty text in a loop.
    return text === '' && count >= 0 && count < 1 / 0 ? '' : nativeTexts.repeat(text, count);
  },
  split(separator, limit) {
    const text = subject(this);
    if (isRegExp(separator)) matchable(text);
    else if (separator !== undefined) searchable(text, (separator = stringOf(separator)));
    const most = limit === undefined ? limits.elements + 1 : limit >>> 0;
    const parts = nativeTexts.split(text, separator, most > limits.elements ? limits.elements + 1 : most);
    return parts.length > limits.elements ? tooMany() : parts;
  },
  replace(pattern, replacement) {
    const text = subject(this);
    if (isRegExp(pattern)) return replaceMatches(nativeTexts.replace, text, pattern, replacement);
    return replaceTexts(text, stringOf(pattern), replacement, false);
  },
  replaceAll(pattern, replacement) {
    const text = subject(this);
    if (isRegExp(pattern)) return replaceMatches(nativeTexts.replaceAll, text, pattern, replacement);
    return replaceTexts(text, stringOf(pattern), replacement, true);
  },
  match(pattern) {
    return nativeTexts.match(matchable(subject(this)), isRegExp(pattern) ? pattern : makeRegExp(pattern));
  },
  matchAll(pattern) {
    return nativeTexts.matchAll(matchable(subject(this)), isRegExp(pattern) ? pattern : makeRegExp(pattern, 'g'));
  },
  search(pattern) {
    return nativeTexts.search(matchable(subject(this)), isRegExp(pattern) ? pattern : makeRegExp(pattern));
  },
  toUpperCase() {
    return capped(nativeTexts.toUpperCase(subject(this)));
  },
  toLowerCase() {
    return capped(nativeTexts.toLowerCase(subject(this)));
  },
  normalize(form) {
    const text = subject(this);
    if (text.length > limits.normalized) tooBig('text to normalize', limits.normalized + ' characters');
    return nativeTexts.normalize(text, form);
  },
};

// Both methods join properties that the object supplies, so a short loop could make a text of hundreds of megabytes.
const toTextOf = (prototype) => {
  const native = prototype.toString;
  return { toString() { return capped(apply(native, this, [])); } };
};
const patternMethods = toTextOf(RegExpPrototype);
const errorMethods = toTextOf(AnyFault.prototype);

function BoundedRegExp(pattern, flags) {
  return makeRegExp(pattern, flags);
}
`;
