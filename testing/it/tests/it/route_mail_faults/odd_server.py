# An IMAP server with three mails, one of which it describes in a way that is not IMAP. Appends each UID that is fetched.
import re
import socketserver
import sys

out = sys.argv[1]
BAD = 2


def mail(uid):
    text = f"From: ann@example.org\r\nTo: me@example.org\r\nSubject: Mail {uid}\r\nMessage-ID: <odd{uid}@example.org>\r\n\r\nhello {uid}\r\n"
    return text.encode()


class Session(socketserver.StreamRequestHandler):
    def say(self, line):
        self.wfile.write(line + b"\r\n")

    def fetch(self, uids):
        for uid in uids:
            with open(out, "a") as file:
                file.write(f"{uid}\n")
            if uid == BAD:
                self.say(b"* 2 FETCH (UID 2 RFC822.SIZE )) secret-of-the-mail (((")
                continue
            body = mail(uid)
            date = b'"18-Nov-2026 12:00:00 +0000"'
            head = b"* %d FETCH (UID %d RFC822.SIZE %d INTERNALDATE %s BODY[]<0> {%d}\r\n" % (uid, uid, len(body), date, len(body))
            self.wfile.write(head + body + b")\r\n")

    def handle(self):
        self.say(b"* OK ready")
        for line in self.rfile:
            tag, command = line.strip().decode().split(" ", 1)
            upper = command.upper()
            if upper.startswith("CAPABILITY"):
                self.say(b"* CAPABILITY IMAP4rev1")
            elif upper.startswith("EXAMINE"):
                for told in (b"* FLAGS ()", b"* 3 EXISTS", b"* 0 RECENT", b"* OK [UIDVALIDITY 7] ok", b"* OK [UIDNEXT 4] ok"):
                    self.say(told)
            elif upper.startswith("UID SEARCH"):
                first = int(re.search(r"UID (\d+):", upper).group(1))
                self.say(b"* SEARCH" + b"".join(b" %d" % uid for uid in (1, 2, 3) if uid >= first))
            elif upper.startswith("UID FETCH"):
                self.fetch([int(word) for word in upper.split(" ")[2].split(",")])
            elif upper.startswith("FETCH"):
                self.say(b'* 3 FETCH (INTERNALDATE "18-Nov-2026 12:00:00 +0000")')
            elif upper.startswith("LOGOUT"):
                self.say(b"* BYE")
            self.say(tag.encode() + b" OK done")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


with Server(("127.0.0.1", 0), Session) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
