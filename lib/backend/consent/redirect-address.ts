/** Where an OAuth client asked to be sent: a redirect URI (RFC 6749 §3.1.2) that is safe in `Location`, in `href` and in a CSP. */
export interface RedirectAddress {
  /** As a browser reads it: normalized, printable ASCII. */
  readonly href: string;
  /** `device`: an app on this device, by its port. `app`: an app on this device, by a scheme of its own. */
  readonly kind: 'web' | 'device' | 'app';
  /** What identifies its receiver: the host with its port, or the scheme with its colon. */
  readonly receiver: string;
  /**
   * The sources of a CSP `form-action` that allow a redirect there. Hosts are omitted: the receiver may redirect further. No form
   * redirects to an app beside the browser.
   */
  readonly formAction?: string;
}

/** Longer than any authorization response; Node refuses to send a head of more than 16 KB. */
const maxLength = 8_192;

/**
 * Schemes without a dot that are no app's own: browsers run, open or fetch them, or hand them to a program of the system that takes
 * commands from its URL. IANA's list names the public ones: https://www.iana.org/assignments/uri-schemes
 */
const publicSchemes: ReadonlySet<string> = new Set(
  (
    'about acct afp android-app appintent applescript applicationstore apt blob brave cdp chrome chrome-extension chrome-native ' +
    'chrome-search chrome-untrusted cid content crx data dav davs devtools dict disk dns edge facetime facetime-audio feed file ' +
    'filesystem finger fish ftp ftps geo ghelp git gopher h323 hcp help http https iap im imap info intent ipp ipps irc ircs ' +
    'isolated-app itms itms-apps itms-services jabber jar javascript jnlp ldap ldaps livescript localhost macappstore ' +
    'macappstores magnet mailto man maps market message microsoft-edge mid mk mms mocha moz-extension ms-its msrp mtqp mvn news ' +
    'nfs nntp opaquelocktoken opera pkcs11 platform pop prefs pres proxy rdp res resource rlogin rsync rtsp rtsps rtspu safari ' +
    'safari-extension safari-web-extension search sftp sgn shell shttp sip sips smb sms smsto snmp ssh steam stun stuns svn tel ' +
    'telnet tftp tn3270 trash turn turns urn vbscript view-source vivaldi vnc vnd wais webcal ws wss wtai wyciwyg x-apple ' +
    'x-help-action x-help-script x-man-page x-web-search xmpp xri'
  ).split(' '),
);

/**
 * Windows' and Apple's own handlers, such as `ms-msdt` and `x-apple.systempreferences`, and those of browsers: `x-safari-https` opens
 * any site, and the page would not name it.
 */
const systemSchemes =
  /^(?:ms-|search-ms$|microsoft[.-]|x-apple|com\.apple\.|com\.microsoft\.|x-safari-|(?:google)?chromes?(?:-|$)|firefox|opera-|brave-|app-prefs$|shortcuts$|workflow$)/;

/**
 * Reads an authorization server's redirect address: `https:`, `http:` on the loopback interface (RFC 8252 §7.3), or a private-use
 * scheme (§7.1), also one without a dot such as `cursor:`.
 *
 * @returns `undefined` for any other value, such as `javascript:`, `data:`, or an address with a user name
 */
export function readRedirectAddress(value: unknown): RedirectAddress | undefined {
  const url = typeof value === 'string' && value.length <= maxLength ? URL.parse(value) : null;
  if (url === null) return undefined;
  const { href, protocol, host, hostname, username, password } = url;
  if (username + password !== '') return undefined;
  // The parser escapes everything else in a path, but not in a path without slashes.
  if (href.length > maxLength || !/^[\x21-\x7e]+$/.test(href)) return undefined;
  if (protocol === 'https:') return { href, kind: 'web', receiver: host, formAction: 'https:' };
  if (protocol === 'http:') {
    return isLoopback(hostname) ? { href, kind: 'device', receiver: host, formAction: 'https: http:' } : undefined;
  }
  return isPrivateUse(protocol.slice(0, -1)) ? { href, kind: 'app', receiver: protocol } : undefined;
}

/** The parser has normalized it: `0x7f.1` is `127.0.0.1`. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function isPrivateUse(scheme: string): boolean {
  return !publicSchemes.has(scheme) && !systemSchemes.test(scheme);
}
