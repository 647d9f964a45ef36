# A person's mail arrives: PORT PASSWORD MAIL plain|tls
import imaplib
import ssl
import sys
import time

port, password, mail, protection = sys.argv[1:5]
if protection == "tls":
    server = imaplib.IMAP4_SSL("127.0.0.1", int(port), ssl_context=ssl._create_unverified_context())
else:
    server = imaplib.IMAP4("127.0.0.1", int(port))
server.login("me", password)
mail = mail.replace("\n", "\r\n").encode()
print(server.append("INBOX", "", imaplib.Time2Internaldate(time.time()), mail))
